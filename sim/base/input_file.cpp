#include "sim/base/input_file.hpp"

#include <cerrno>
#include <cstring>
#include <thread>

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <sys/stat.h>

#include "sim/base/environment_error.hpp"
#include "sim/base/file_stamps.hpp"
#include "sim/base/read_files.hpp"
#include "sim/base/source.hpp"

namespace ddpsim {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

[[noreturn]] void fail(const std::string& path, const std::string& message, std::string_view hint) {
  throw InputError(whole_file(make_source(path, "")), message, hint);
}

[[noreturn]] void fail_open(const std::string& path, std::string_view what, int error) {
  if (error == ENOENT || error == ENOTDIR)
    fail(path, fmt::format("no such file (expected {})", what), "check the path");
  if (error == ELOOP)
    fail(path, "too many levels of symbolic links", "a link on this path leads back to itself");
  if (error == EMFILE || error == ENFILE)
    throw EnvironmentError(fmt::format("cannot open '{}': {}", path, std::strerror(error)), kShortageHint);
  fail(path, fmt::format("cannot be read: {}", std::strerror(error)), "check its permissions");
}

// Whether anybody has opened this pipe for writing, now or before; nothing is taken out of it. poll tells of
// data and of writers that have left; a writer that has not written yet makes tee refuse with EAGAIN.
bool has_writer(int fd) {
  pollfd polled{fd, POLLIN, 0};
  if (poll(&polled, 1, 0) > 0) return true;
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0)
    throw EnvironmentError("a pipe was refused: too many files are open", kShortageHint);
  Descriptor nobody_reads(ends[0]), copy(ends[1]);
  return tee(fd, copy.get(), 1, SPLICE_F_NONBLOCK) != 0;
}

}  // namespace

Descriptor open_input(const std::string& path, std::string_view what, milliseconds patience) {
  stamp_file(path);
  // Without O_NONBLOCK a named pipe would not even open before somebody writes to it.
  Descriptor file(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!file) fail_open(path, what, errno);
  struct stat status {};
  if (fstat(file.get(), &status) != 0) fail_open(path, what, errno);
  if (S_ISDIR(status.st_mode))
    fail(path, fmt::format("is a directory, not {}", what), "name a file inside it");
  add_read_file(path);
  for (auto end = steady_clock::now() + patience; S_ISFIFO(status.st_mode) && !has_writer(file.get());) {
    if (steady_clock::now() >= end)
      fail(path, "is a pipe that nobody writes to", "start the program that writes to it, or name a file");
    std::this_thread::sleep_for(milliseconds(10));
  }
  if (fcntl(file.get(), F_SETFL, 0) != 0) fail_open(path, what, errno);  // from here on reads wait
  return file;
}

}  // namespace ddpsim
