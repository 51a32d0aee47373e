#include "sim/base/external_program.hpp"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <sstream>

#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sim/base/backend_missing.hpp"
#include "sim/base/check.hpp"

extern char** environ;

namespace ddpsim {
namespace {

struct Close {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
// Files rather than pipes: nobody waits for anybody, however long script and picture are.
using TemporaryFile = std::unique_ptr<std::FILE, Close>;

TemporaryFile make_temporary() {
  TemporaryFile file(std::tmpfile());
  if (!file) throw InternalError(fmt::format("no temporary file: {}", std::strerror(errno)));
  return file;
}

std::string read_all(std::FILE* file) {
  std::rewind(file);
  std::string text;
  char block[1 << 14];
  while (auto n = std::fread(block, 1, sizeof block, file)) text.append(block, n);
  return text;
}

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
    throw InternalError(fmt::format("writing for {}: {}", program.name, std::strerror(errno)));
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
  int error = posix_spawnp(&child, name.c_str(), actions.get(), nullptr, arguments.data(), environ);
  if (error == ENOENT) fail_missing(program);
  if (error != 0) throw InternalError(fmt::format("cannot run '{}': {}", name, std::strerror(error)));
  int status = wait_for(child, program);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
    throw InternalError(fmt::format("'{}' failed: {}", name, read_all(complaint.get())));
  auto written = read_all(output.get());
  DDPSIM_CHECK(!written.empty(), "what is run here writes its result");
  return written;
}

}  // namespace ddpsim
