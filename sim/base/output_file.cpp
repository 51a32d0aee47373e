#include "sim/base/output_file.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include "sim/base/descriptor.hpp"
#include "sim/base/read_files.hpp"
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

}  // namespace

void check_writable(const std::string& path, std::string_view option) {
  namespace fs = std::filesystem;
  std::error_code error;
  if (path.empty()) throw InputError(fmt::format("{} needs a file name", option));
  if (fs::is_directory(path, error))
    throw InputError(fmt::format("{}: '{}' is a directory", option, path), "name a file inside it");
  check_was_not_read(path, fmt::format("{} {}", option, path));
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

// A new file in this folder, with the permissions of any new file, or the device of that path. O_EXCL:
// whatever stands there already, a link that somebody planted above all, is never written to.
struct WholeFile::Temporary {
  std::string path;  // empty: of a device
  Descriptor file;   // none: errno says why

  explicit Temporary(const std::string& target) {
    if (is_device(target)) {
      file = Descriptor(open(target.c_str(), O_WRONLY | O_CLOEXEC));
      return;
    }
    std::filesystem::path folder(folder_of(target));
    for (int number = 0; !file && (number == 0 || errno == EEXIST); ++number) {
      path = (folder / fmt::format(".ddpsim.{}.{}.tmp", getpid(), number)).string();
      file = Descriptor(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666));
    }
    if (!file) path.clear();
  }
  ~Temporary() {
    if (!path.empty()) unlink(path.c_str());
  }
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;
};

WholeFile::WholeFile(std::string path) : given_(std::move(path)), target_(given_) {
  std::error_code dangling;
  auto target = std::filesystem::canonical(given_, dangling);  // a link stays a link, its file is replaced
  if (!dangling) target_ = target.string();
  check_was_not_read(target_, given_);
  file_ = std::make_unique<Temporary>(target_);
  if (!file_->file) fail(errno);
}

WholeFile::~WholeFile() = default;

void WholeFile::fail(int error) const {
  throw InputError(fmt::format("cannot write '{}': {}", given_, std::strerror(error)),
                   "check the disk and the permissions");
}

void WholeFile::append(std::string_view part) {
  while (!part.empty()) {
    auto written = write(file_->file.get(), part.data(), part.size());
    if (written > 0)
      part.remove_prefix(static_cast<std::size_t>(written));
    else if (errno != EINTR)
      fail(errno);
  }
}

void WholeFile::finish() {
  auto& [path, file] = *file_;
  if (fsync(file.get()) != 0 && errno != EINVAL && errno != EROFS) fail(errno);
  if (close(std::move(file).release()) != 0) fail(errno);
  if (path.empty()) return;
  check_was_not_read(target_, given_);  // what was not there at first may be by now
  if (std::rename(path.c_str(), target_.c_str()) != 0) fail(errno);
  path.clear();
}

void write_whole_file(const std::string& path, std::string_view contents) {
  WholeFile file(path);
  file.append(contents);
  file.finish();
}

}  // namespace ddpsim
