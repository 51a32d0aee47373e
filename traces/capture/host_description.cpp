#include <filesystem>
#include <fstream>

#include "traces/capture/device_description.hpp"
#include <ATen/Parallel.h>
#include <dlfcn.h>
#include <fmt/core.h>

#include "sim/base/one_line.hpp"

namespace ddpsim {
namespace {

std::string processor() {
  std::ifstream cpuinfo("/proc/cpuinfo");
  for (std::string line; std::getline(cpuinfo, line);)
    if (auto colon = line.find(':'); line.starts_with("model name") && colon != std::string::npos)
      if (auto name = one_line(line.substr(colon + 1)); !name.empty()) return name;
  return "CPU";
}

// "openblas-pthread/libblas.so.3", the library that has the matrix product LibTorch calls: Debian's LibTorch
// takes whatever BLAS is installed. Empty where LibTorch brings its own.
std::string blas_library() {
  Dl_info info{};
  void* product = dlsym(RTLD_DEFAULT, "sgemm_");
  if (!product || dladdr(product, &info) == 0 || !info.dli_fname) return {};
  std::error_code unknown;
  auto path = std::filesystem::canonical(info.dli_fname, unknown);
  if (unknown || path.filename().string().starts_with("libtorch")) return {};
  return path.parent_path().filename() / path.filename();
}

}  // namespace

DeviceDescription describe_host() {
  auto blas = blas_library();
  return {
      processor(),
      {one_line(fmt::format("{} thread{}; BLAS {}", at::get_num_threads(),
                            at::get_num_threads() == 1 ? "" : "s", blas.empty() ? "of LibTorch" : blas))}};
}

std::string blas_remark() {
  if (!blas_library().starts_with("blas/")) return {};
  return "LibTorch multiplies with the reference BLAS, which is slow: apt-get install libopenblas0-pthread";
}

}  // namespace ddpsim
