#include "sim/process/external_program.hpp"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <sstream>

#include <fmt/core.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sim/base/backend_missing.hpp"
#include "sim/base/check.hpp"
#include "sim/base/environment_error.hpp"

extern char** environ;

namespace ddpsim {
namespace {

constexpr const char* kDiskHint = "is the disk of /tmp full, or a limit reached (ulimit -a lists them)?";

struct Close {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
// Files rather than pipes: nobody waits for anybody, however long script and picture are.
using TemporaryFile = std::unique_ptr<std::FILE, Close>;

TemporaryFile make_temporary() {
  TemporaryFile file(std::tmpfile());
  if (!file)
    throw EnvironmentError(fmt::format("a temporary file was refused: {}", std::strerror(errno)), kDiskHint);
  return file;
}

std::string read_all(std::FILE* file) {
  std::rewind(file);
  std::string text;
  char block[1 << 14];
  while (auto n = std::fread(block, 1, sizeof block, file)) text.append(block, n);
  return text;
}

// We ignore the signal of a file that outgrows its limit, and a child would inherit that; it is to end by it
// rather than leave half a picture.
class DefaultSignals {
 public:
  DefaultSignals() {
    posix_spawnattr_init(&attributes_);
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGXFSZ);
    posix_spawnattr_setsigdefault(&attributes_, &signals);
    posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGDEF);
  }
  ~DefaultSignals() { posix_spawnattr_destroy(&attributes_); }
  DefaultSignals(const DefaultSignals&) = delete;
  DefaultSignals& operator=(const DefaultSignals&) = delete;
  [[nodiscard]] const posix_spawnattr_t* get() const { return &attributes_; }

 private:
  posix_spawnattr_t attributes_{};
};

class FileActions {
 public:
  FileActions() { posix_spawn_file_actions_init(&actions_); }
  ~FileActions() { posix_spawn_file_actions_destroy(&actions_); }
  FileActions(const FileActions&) = delete;
  FileActions& operator=(const FileActions&) = delete;
  void redirect(int descriptor, std::FILE* file) {
    posix_spawn_file_actions_adddup2(&actions_, fileno(file), descriptor);
  }
  [[nodiscard]] const posix_spawn_file_actions_t* get() const { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_{};
};

int wait_for(pid_t child, const ExternalProgram& program) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0)
    if (errno != EINTR)
      throw InternalError(fmt::format("waiting for {}: {}", program.name, std::strerror(errno)));
  return status;
}

[[noreturn]] void fail_missing(const ExternalProgram& program) {
  throw BackendMissing(
      fmt::format("{} by '{}', which is not installed\n"
                  "hint: on Debian or Ubuntu: apt-get install {}",
                  program.purpose, program.name, program.package));
}

}  // namespace

void require_program(const ExternalProgram& program) {
  const char* path = std::getenv("PATH");
  std::istringstream folders(path ? path : "/usr/local/bin:/usr/bin:/bin");
  for (std::string folder; std::getline(folders, folder, ':');)
    if (access((std::filesystem::path(folder) / program.name).c_str(), X_OK) == 0) return;
  fail_missing(program);
}

std::string run_program(const ExternalProgram& program, std::string_view text) {
  auto input = make_temporary(), output = make_temporary(), complaint = make_temporary();
  if (std::fwrite(text.data(), 1, text.size(), input.get()) != text.size() || std::fflush(input.get()) != 0)
    throw EnvironmentError(
        fmt::format("a temporary file for {} cannot be written: {}", program.name, std::strerror(errno)),
        kDiskHint);
  std::rewind(input.get());
  FileActions actions;
  actions.redirect(STDIN_FILENO, input.get());
  actions.redirect(STDOUT_FILENO, output.get());
  actions.redirect(STDERR_FILENO, complaint.get());

  std::string name = program.name;
  std::vector<std::string> words = program.arguments;
  std::vector<char*> arguments{name.data()};
  for (auto& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  pid_t child = 0;
  int error =
      posix_spawnp(&child, name.c_str(), actions.get(), DefaultSignals().get(), arguments.data(), environ);
  if (error == ENOENT) fail_missing(program);
  if (error == EAGAIN || error == ENOMEM)
    throw EnvironmentError(fmt::format("'{}' cannot be started: {}", name, std::strerror(error)),
                           error == EAGAIN ? kShortageHint : kMemoryHint);
  if (error != 0) throw InternalError(fmt::format("cannot run '{}': {}", name, std::strerror(error)));
  int status = wait_for(child, program);
  if (WIFSIGNALED(status))
    throw EnvironmentError(
        fmt::format("'{}' was ended by signal {} ({})", name, WTERMSIG(status), strsignal(WTERMSIG(status))),
        "is there enough memory, and room for its output?");
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
    throw InternalError(fmt::format("'{}' failed: {}", name, read_all(complaint.get())));
  auto written = read_all(output.get());
  DDPSIM_CHECK(!written.empty(), "what is run here writes its result");
  return written;
}

}  // namespace ddpsim
