#include "sim/base/read_files.hpp"

#include <filesystem>
#include <map>
#include <mutex>
#include <vector>

#include <fmt/core.h>

#include "sim/base/source.hpp"

namespace ddpsim {
namespace {

namespace fs = std::filesystem;

struct Output {
  std::string path, name;
};

// Paths are kept from the root on: a Python program may change its folder.
struct Files {
  std::mutex access;
  std::map<std::string, std::string> read;  // and as they were opened
  std::vector<Output> outputs;
};

Files& files() {
  static Files of_process;
  return of_process;
}

std::string from_root(const std::string& path) {
  std::error_code no_folder;
  return fs::absolute(path, no_folder).lexically_normal().string();
}

// By device and inode as they are now. Those of a file that is gone may be another one's by now.
bool is_same_file(const std::string& path, const std::string& other) {
  std::error_code one_is_missing;
  return fs::is_regular_file(path, one_is_missing) && fs::equivalent(path, other, one_is_missing);
}

[[noreturn]] void refuse(std::string_view output, bool has_same_name, const std::string& input) {
  throw InputError(fmt::format("{} would overwrite the input{}", output, has_same_name ? "" : " " + input),
                   "give it another name");
}

}  // namespace

void add_read_file(const std::string& path) {
  auto& known = files();
  std::lock_guard lock(known.access);
  auto own = from_root(path);
  known.read.emplace(own, path);
  for (const auto& output : known.outputs)
    if (is_same_file(output.path, own)) refuse(output.name, output.path == own, path);
}

void check_was_not_read(const std::string& path, std::string_view output) {
  auto& known = files();
  std::lock_guard lock(known.access);
  for (const auto& [own, opened] : known.read)
    if (is_same_file(path, own)) refuse(output, from_root(path) == own, opened);
}

void announce_output(const std::string& path, std::string output) {
  check_was_not_read(path, output);
  auto& known = files();
  std::lock_guard lock(known.access);
  known.outputs.push_back({from_root(path), std::move(output)});
}

}  // namespace ddpsim
