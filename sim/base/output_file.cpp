#include "sim/base/output_file.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include "sim/base/descriptor.hpp"
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

// A new file in this folder, with the permissions of any new file. O_EXCL: whatever stands there already,
// a link that somebody planted above all, is never written to.
struct Temporary {
  std::string path;
  Descriptor file;  // none: errno says why

  explicit Temporary(const std::filesystem::path& folder) {
    for (int number = 0; !file && (number == 0 || errno == EEXIST); ++number) {
      path = (folder / fmt::format(".ddpsim.{}.{}.tmp", getpid(), number)).string();
      file = Descriptor(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666));
    }
  }
};

// Returns 0, or why it failed.
int write_all(Descriptor& file, std::string_view contents) {
  while (!contents.empty()) {
    auto written = write(file.get(), contents.data(), contents.size());
    if (written > 0)
      contents.remove_prefix(static_cast<std::size_t>(written));
    else if (errno != EINTR)
      return errno;
  }
  if (fsync(file.get()) != 0 && errno != EINVAL && errno != EROFS) return errno;
  return close(std::move(file).release()) == 0 ? 0 : errno;
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

void write_whole_file(const std::string& given, std::string_view contents) {
  std::error_code dangling;
  auto target = std::filesystem::canonical(given, dangling);  // a link stays a link, its file is replaced
  std::string path = dangling ? given : target.string();
  if (is_device(path)) {
    Descriptor device(open(path.c_str(), O_WRONLY | O_CLOEXEC));
    if (int error = device ? write_all(device, contents) : errno) fail(given, error);
    return;
  }
  Temporary temporary(folder_of(path));
  int error = temporary.file ? write_all(temporary.file, contents) : errno;
  if (error == 0 && std::rename(temporary.path.c_str(), path.c_str()) != 0) error = errno;
  if (error == 0) return;
  if (temporary.file) unlink(temporary.path.c_str());
  fail(given, error);
}

}  // namespace ddpsim
