#include "sim/base/output_file.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "sim/base/source.hpp"

namespace ddpsim {
namespace {

// A pipe or /dev/null is written to, never renamed over.
bool is_device(const std::string& path) {
  std::error_code ignored;
  auto status = std::filesystem::status(path, ignored);
  return std::filesystem::exists(status) && !std::filesystem::is_regular_file(status);
}

std::filesystem::path folder_of(const std::string& path) {
  auto folder = std::filesystem::path(path).parent_path();
  return folder.empty() ? std::filesystem::path(".") : folder;
}

[[noreturn]] void fail(const std::string& path, int error) {
  throw InputError(fmt::format("cannot write '{}': {}", path, std::strerror(error)),
                   "check the disk and the permissions");
}

}  // namespace

void check_writable(const std::string& path, std::string_view option) {
  namespace fs = std::filesystem;
  std::error_code error;
  if (path.empty()) throw InputError(fmt::format("{} needs a file name", option));
  if (fs::is_directory(path, error))
    throw InputError(fmt::format("{}: '{}' is a directory", option, path), "name a file inside it");
  if (is_device(path)) {
    if (access(path.c_str(), W_OK) != 0)
      throw InputError(fmt::format("{}: '{}' is not writable", option, path), "choose another file");
    return;
  }
  auto folder = folder_of(path);
  if (!fs::is_directory(folder, error))
    throw InputError(fmt::format("{}: there is no folder '{}'", option, folder.string()), "create it first");
  if (access(folder.c_str(), W_OK | X_OK) != 0)
    throw InputError(fmt::format("{}: folder '{}' is not writable", option, folder.string()),
                     "choose another folder");
}

std::string temporary_path(const std::string& path) {
  std::filesystem::path target(path);
  return (folder_of(path) / fmt::format(".{}.{}.tmp", target.filename().string(), getpid())).string();
}

void publish_file(const std::string& temporary, const std::string& path) {
  if (std::rename(temporary.c_str(), path.c_str()) == 0) return;
  int error = errno;
  unlink(temporary.c_str());
  fail(path, error);
}

void write_whole_file(const std::string& given, std::string_view contents) {
  std::error_code dangling;
  auto target = std::filesystem::canonical(given, dangling);  // a link stays a link, its file is replaced
  std::string path = dangling ? given : target.string();
  bool device = is_device(path);
  auto temporary = device ? path : temporary_path(path);
  int fd = open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (fd < 0) fail(given, errno);
  int error = 0;
  while (!contents.empty() && error == 0) {
    auto written = write(fd, contents.data(), contents.size());
    if (written > 0)
      contents.remove_prefix(static_cast<std::size_t>(written));
    else if (errno != EINTR)
      error = errno;
  }
  if (error == 0 && fsync(fd) != 0 && errno != EINVAL && errno != EROFS) error = errno;
  if (close(fd) != 0 && error == 0) error = errno;
  if (error != 0) {
    if (!device) unlink(temporary.c_str());
    fail(given, error);
  }
  if (!device) publish_file(temporary, path);
}

}  // namespace ddpsim
