#include "validate/launch/rank_process.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string_view>
#include <thread>
#include <vector>

#include "validate/launch/die_with_parent.hpp"
#include <fmt/core.h>
#include <sys/wait.h>

#include "sim/base/check.hpp"
#include "sim/base/environment_error.hpp"
#include "sim/base/program_exit.hpp"

extern char** environ;

namespace ddpsim::validate {
namespace {

constexpr std::size_t kKeptOutput = 4096;

// This process's environment with other values for some variables, as execve wants them.
std::vector<std::string> environment_with(const std::map<std::string, std::string>& changed) {
  std::vector<std::string> entries;
  for (char** entry = environ; *entry; ++entry) {
    std::string_view text(*entry);
    if (!changed.contains(std::string(text.substr(0, text.find('='))))) entries.emplace_back(text);
  }
  for (const auto& [name, value] : changed) entries.push_back(fmt::format("{}={}", name, value));
  return entries;
}

std::vector<std::string> rank_environment(const LaunchOptions& options, const RankNetwork& network,
                                          RankRange ranks, int local_rank, int status_descriptor) {
  std::map<std::string, std::string> changed{
      {"RANK", std::to_string(ranks.first)},
      {"WORLD_SIZE", std::to_string(options.placement.world_size)},
      {"LOCAL_RANK", std::to_string(local_rank)},
      {"MASTER_ADDR", options.placement.master_address},
      {"MASTER_PORT", std::to_string(options.placement.master_port)},
      {"DDPSIM_MEETING_FILE", options.placement.meeting_file},
      {"DDPSIM_RANKS_HERE", std::to_string(ranks.count)},
      {"DDPSIM_STATUS_FD", std::to_string(status_descriptor)},
  };
  if (auto here = options.placement.local_world_size) changed["LOCAL_WORLD_SIZE"] = std::to_string(*here);
  if (!options.placement.joined) changed["DDPSIM_INTERFACE"] = network.interface();
  // One thread each: ranks share the cores of this machine.
  for (const char* threads : {"OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"})
    if (!std::getenv(threads)) changed[threads] = "1";
  return environment_with(changed);
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> all;
  for (auto& text : texts) all.push_back(text.data());
  all.push_back(nullptr);
  return all;
}

// All that a child needs, made before it exists: after fork there is no memory to be had.
struct Start {
  pid_t parent;
  const RankNetwork* network;  // null: none to enter
  int rank;
  int input, output, status;
  char *const *arguments, *const *environment;
};

[[noreturn]] void give_up(const char* what, const char* why) {
  for (const char* part : {"error: ", what, ": ", why, "\n"})
    [[maybe_unused]] auto written = write(STDERR_FILENO, part, std::strlen(part));
  _exit(kRunFailed);
}

[[noreturn]] void become_rank(const Start& start) {
  setpgid(0, 0);
  die_with_parent(start.parent);
  dup2(start.input, STDIN_FILENO);
  dup2(start.output, STDOUT_FILENO);
  dup2(start.output, STDERR_FILENO);
  if (start.network && !start.network->enter(start.rank))
    give_up("the network of this rank cannot be entered", strerrordesc_np(errno));
  die_with_parent(start.parent);  // again: entering may have changed credentials
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  std::signal(SIGPIPE, SIG_DFL);
  fcntl(start.status, F_SETFD, 0);
  execve(start.arguments[0], start.arguments, start.environment);
  give_up(start.arguments[0], strerrordesc_np(errno));
}

EnvironmentError cannot_start(const RankRange& ranks) {
  return {fmt::format("cannot start {}: {}", ranks.name(), std::strerror(errno)), kShortageHint};
}

}  // namespace

std::string RankRange::name() const {
  return count == 1 ? fmt::format("rank {}", first)
                    : fmt::format("the process of ranks {} to {}", first, first + count - 1);
}

RankProcess::RankProcess(const LaunchOptions& options, const RankNetwork& network, RankRange ranks,
                         int local_rank, int status_descriptor)
    : ranks_(ranks) {
  std::vector<std::string> words{options.program};
  words.insert(words.end(), options.arguments.begin(), options.arguments.end());
  auto variables = rank_environment(options, network, ranks, local_rank, status_descriptor);
  auto arguments = pointers(words), environment = pointers(variables);
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw cannot_start(ranks);
  output_ = Descriptor(ends[0]);
  auto writing = Descriptor(ends[1]).above_standard();
  auto nothing = Descriptor(open("/dev/null", O_RDONLY | O_CLOEXEC)).above_standard();
  if (!writing || !nothing || fcntl(output_.get(), F_SETFL, O_NONBLOCK) != 0) throw cannot_start(ranks);
  Start start{getpid(),         options.placement.joined ? nullptr : &network,
              ranks.first,      nothing.get(),
              writing.get(),    status_descriptor,
              arguments.data(), environment.data()};
  process_ = fork();
  if (process_ < 0) throw cannot_start(ranks);
  if (process_ == 0) become_rank(start);
  setpgid(process_, process_);  // by whoever of the two comes first
}

RankProcess::~RankProcess() {
  if (!running()) return;
  kill_group();
  reap();
}

void RankProcess::kill_group() const {
  if (!running()) return;
  kill(-process_, SIGKILL);
  kill(process_, SIGKILL);
}

// A killed process ends at once, unless it is inside a driver that does not let it go: then we do.
void RankProcess::reap() {
  using Clock = std::chrono::steady_clock;
  constexpr auto kPatience = std::chrono::seconds(10);
  for (auto end = Clock::now() + kPatience; Clock::now() < end;) {
    auto ended = waitpid(process_, nullptr, WNOHANG);
    if (ended > 0 || (ended < 0 && errno != EINTR)) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  process_ = 0;
}

void RankProcess::read_output() {
  constexpr int kMostReads = 16;  // others want to be heard, too
  static thread_local char buffer[1 << 16];
  for (int i = 0; i < kMostReads && output_; ++i) {
    auto got = read(output_.get(), buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return;
    if (got == 0) output_.reset();
    written_.append(buffer, static_cast<std::size_t>(got));
    written_.erase(0, written_.size() - std::min(written_.size(), kKeptOutput));
  }
}

std::optional<ProcessEnd> RankProcess::check() {
  siginfo_t info{};
  // It stays a zombie, and its number its own, until the rest of its group is killed.
  int answer = waitid(P_PID, static_cast<id_t>(process_), &info, WEXITED | WSTOPPED | WNOHANG | WNOWAIT);
  DDPSIM_CHECK(answer == 0, "nobody else waits for our children");
  if (info.si_pid == 0) return std::nullopt;
  if (info.si_code == CLD_STOPPED) {
    read_output();
    return ProcessEnd{ProcessEnd::How::stopped, info.si_status};
  }
  kill_group();
  read_output();
  reap();
  return ProcessEnd{info.si_code == CLD_EXITED ? ProcessEnd::How::exited : ProcessEnd::How::killed,
                    info.si_status};
}

}  // namespace ddpsim::validate
