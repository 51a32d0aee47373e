#pragma once
// Maps from words of GPUs' names to what was measured on them, in files of software and of kernels.
#include <string>
#include <string_view>
#include <vector>

#include "sim/config/value.hpp"
#include "sim/gpu/gpu_description.hpp"

namespace ddpsim {

// What finds a GPU's entry: its name, and the names of GPUs with the same chip, the likest first.
struct GpuNames {
  GpuNames(std::string_view gpu, std::vector<std::string> chip = {})
      : name(gpu), same_chip(std::move(chip)) {}
  GpuNames(const char* gpu) : name(gpu) {}
  GpuNames(const std::string& gpu) : name(gpu) {}
  GpuNames(const GpuDescription& gpu) : name(gpu.name), same_chip(gpu.same_chip) {}
  std::string name;
  std::vector<std::string> same_chip;
  auto operator<=>(const GpuNames&) const = default;
};

// The entry whose word stands in the name ("A100" in "NVIDIA A100 SXM4 80GB"), else the first of the same
// chip, else the last: what is newest stands at the end.
struct GpuEntry {
  const config::Entry& entry;
  enum class Of { itself, same_chip, another } of;
};
GpuEntry entry_for(const std::vector<config::Entry>& entries, const GpuNames& gpu);

}  // namespace ddpsim
