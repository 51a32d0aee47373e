#include "sim/process/forked_workers.hpp"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <map>
#include <new>
#include <optional>
#include <vector>

#include <fmt/core.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sim/base/check.hpp"
#include "sim/base/source.hpp"
#include "sim/process/interrupts.hpp"

namespace ddpsim {
namespace {

enum Verdict : char { kDone = 'd', kInputError = 'i', kEnvironmentError = 'e', kInternalError = 'x' };

constexpr int kLongestWait = 200;  // milliseconds: an interrupt may come to another thread

struct Child {
  std::size_t task;
  pid_t pid;
  int pipe;
  std::string received;
  int status = 0;  // as waitpid says, once it has ended
};

void write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    auto written = write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) _exit(1);  // the parent is gone
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
}

std::string answer_to(std::size_t index, const std::function<std::string(std::size_t)>& task) {
  try {
    return std::string(1, kDone) + task(index);
  } catch (const InputError& error) {
    return std::string(1, kInputError) + error.what();
  } catch (const EnvironmentError& error) {
    return std::string(1, kEnvironmentError) + error.message() + '\0' + error.hint();
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    return std::string(1, kInternalError) + error.what();
  } catch (...) {
    return std::string(1, kInternalError) + "a task threw what is no exception";
  }
}

// Nothing may unwind into the parent's frames.
[[noreturn]] void run_child(int fd, std::size_t index,
                            const std::function<std::string(std::size_t)>& task) noexcept {
  try {
    write_all(fd, answer_to(index, task));
  } catch (...) {  // there is no memory for an answer either
    for (std::string_view part : {std::string_view("eout of memory\0", 15), std::string_view(kMemoryHint)})
      write_all(fd, part);
  }
  _exit(0);  // no destructors, no flush of the parent's buffers: this process was only the task
}

EnvironmentError refused(const char* what, int error) {
  return {fmt::format("{} was refused: {}", what, std::strerror(error)),
          error == ENOMEM ? kMemoryHint : kShortageHint};
}

// Throws EnvironmentError where the machine refuses.
Child start(std::size_t index, const std::function<std::string(std::size_t)>& task) {
  int ends[2];
  if (pipe(ends) != 0) throw refused("a pipe to a worker process", errno);
  std::fflush(nullptr);
  pid_t parent = getpid();
  pid_t pid = fork();
  if (pid < 0) {
    int error = errno;
    close(ends[0]);
    close(ends[1]);
    throw refused("a worker process", error);
  }
  if (pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);
    for (int signal : {SIGINT, SIGTERM, SIGPIPE}) std::signal(signal, SIG_DFL);
    close(ends[0]);
    set_interrupt_check({});  // the parent's
    run_child(ends[1], index, task);
  }
  close(ends[1]);
  return {index, pid, ends[0], {}};
}

// Reads what there is; true when the child has closed its end.
bool drain(Child& child) {
  char buffer[1 << 16];
  for (;;) {
    auto got = read(child.pipe, buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return true;
    child.received.append(buffer, static_cast<std::size_t>(got));
    return false;
  }
}

void reap(Child& child) {
  close(child.pipe);
  while (waitpid(child.pid, &child.status, 0) < 0 && errno == EINTR) {
  }
}

// These come from outside; a process that does wrong gets others.
bool kills_from_outside(int signal) {
  return signal == SIGKILL || signal == SIGTERM || signal == SIGINT || signal == SIGHUP || signal == SIGXCPU;
}

// Why an ended child has no answer for reasons that are not its own.
std::optional<EnvironmentError> loss_of(const Child& child) {
  if (WIFSIGNALED(child.status) && kills_from_outside(WTERMSIG(child.status)))
    return EnvironmentError(fmt::format("a worker process was ended from outside (signal {}: {})",
                                        WTERMSIG(child.status), strsignal(WTERMSIG(child.status))),
                            fmt::format("the kernel does that when memory runs out; {}", kMemoryHint));
  if (child.received.empty() || child.received.front() != kEnvironmentError) return std::nullopt;
  auto split = child.received.find('\0');
  DDPSIM_CHECK(split != std::string::npos, "a worker's answer is whole");
  return EnvironmentError(child.received.substr(1, split - 1), child.received.substr(split + 1));
}

// What an ended child answered; its exception, if it threw one.
std::string answer_of(const Child& child) {
  if (WIFSIGNALED(child.status))
    throw InternalError(
        fmt::format("the worker of task {} died: {}", child.task, strsignal(WTERMSIG(child.status))));
  if (child.received.empty())
    throw InternalError(fmt::format("the worker of task {} ended without an answer", child.task));
  std::string text = child.received.substr(1);
  if (child.received.front() == kInputError) throw InputError::rendered(text);
  if (child.received.front() == kInternalError) throw InternalError(text);
  return text;
}

// Whatever still runs when we leave early is ended and reaped.
class Children {
 public:
  std::vector<Child> running;
  Children() = default;
  Children(const Children&) = delete;
  Children& operator=(const Children&) = delete;
  ~Children() {
    for (auto& child : running) {
      kill(child.pid, SIGKILL);
      reap(child);
    }
  }
};

}  // namespace

void run_in_forked_workers(std::size_t n, unsigned jobs, const std::function<std::string(std::size_t)>& task,
                           const std::function<void(std::size_t, std::string)>& on_result,
                           const OnLost& on_lost) {
  DDPSIM_CHECK(jobs >= 1, "at least one worker");
  Children children;
  std::map<std::size_t, Child>
      ended;  // before their turn: results and failures alike come in the order of tasks
  std::size_t started = 0, reported = 0;
  while (reported < n) {
    try {
      children.running.reserve(jobs);
      for (; started < n && children.running.size() < jobs; ++started)
        children.running.push_back(start(started, task));
    } catch (const EnvironmentError& why) {
      // Tried again when one of those that run has ended.
      if (children.running.empty()) {
        while (reported < n) on_lost(reported++, why);
        return;
      }
    }
    std::vector<pollfd> polled;
    for (const auto& child : children.running) polled.push_back({child.pipe, POLLIN, 0});
    check_interrupts();
    if (poll(polled.data(), polled.size(), kLongestWait) < 0 && errno != EINTR)
      throw InternalError(fmt::format("poll failed: {}", std::strerror(errno)));
    for (std::size_t i = polled.size(); i-- > 0;) {
      if ((polled[i].revents & (POLLIN | POLLHUP | POLLERR)) == 0 || !drain(children.running[i])) continue;
      Child child = std::move(children.running[i]);
      children.running.erase(children.running.begin() + static_cast<std::ptrdiff_t>(i));
      reap(child);
      ended.emplace(child.task, std::move(child));
    }
    for (auto it = ended.find(reported); it != ended.end(); it = ended.find(++reported)) {
      if (auto lost = loss_of(it->second))
        on_lost(reported, *lost);
      else
        on_result(reported, answer_of(it->second));
      ended.erase(it);
    }
  }
}

}  // namespace ddpsim
