#include "sim/base/program_exit.hpp"

#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <new>
#include <system_error>

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include "sim/base/backend_missing.hpp"
#include "sim/base/check.hpp"
#include "sim/base/environment_error.hpp"
#include "sim/base/source.hpp"
#include "sim/base/standard_error.hpp"

namespace ddpsim {
namespace {

// What is to be removed, as a signal handler can read it. A path ends with NUL; an empty one is a free place.
constexpr int kPlaces = 32;
char to_remove[kPlaces][PATH_MAX];

void remove_all() {
  for (int place = kPlaces - 1; place >= 0; --place)
    if (to_remove[place][0] && unlink(to_remove[place]) != 0) rmdir(to_remove[place]);
}

// Whether the first interrupt is to be noted, and has come.
volatile std::sig_atomic_t notes_first = 0, has_come = 0;

// Workers die with this process, and outputs are whole or absent: leaving at once is safe.
void on_interrupt(int signal) {
  if (signal == SIGINT && notes_first && !has_come) {
    has_come = 1;
    return;
  }
  remove_all();
  write_stderr("interrupted\n");
  _exit(kInterrupted);
}

// Whoever read the output has seen enough: the signal, sent again, ends the program when this returns.
void on_broken_pipe(int) {
  remove_all();
  std::signal(SIGPIPE, SIG_DFL);
  std::raise(SIGPIPE);
}

[[noreturn]] void on_terminate() {
  remove_all();
  if (std::current_exception()) _exit(fail_with_current_exception());
  write_stderr("internal error: the program cannot go on\n");
  _exit(kInternal);
}

// A closed one would go to the next file that is opened, and messages would be written into that. It stays
// useless: standard output as a file that cannot be written is an error, as a closed one is.
void occupy_standard_descriptors() {
  for (int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (fcntl(descriptor, F_GETFD) < 0 && errno == EBADF)
      open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY);  // gets the lowest free number
}

bool is_shortage(const std::error_code& code) {
  return code == std::errc::not_enough_memory || code == std::errc::resource_unavailable_try_again ||
         code == std::errc::too_many_files_open || code == std::errc::too_many_files_open_in_system;
}

InputError broken_standard_output() {
  return InputError("standard output cannot be written to its end", "is the disk full?");
}

void mask_interrupts(int how) {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  sigprocmask(how, &signals, nullptr);
}

}  // namespace

Failure failure_of(const std::exception_ptr& exception) {
  try {
    std::rethrow_exception(exception);
  } catch (const InputError& error) {
    return {kBadInput, error.what()};
  } catch (const BackendMissing& error) {
    return {kNotAvailable, fmt::format("error: {}", error.what())};
  } catch (const RunFailed& error) {
    return {kRunFailed, fmt::format("error: {}", error.what())};
  } catch (const Interrupted& interrupted) {
    return {kInterrupted, interrupted.what()};
  } catch (const ThresholdMissed& missed) {
    return {kMissed, missed.what()};
  } catch (const TooNoisy& noisy) {
    return {kTooNoisy, noisy.what()};
  } catch (const InternalError& error) {
    return {
        kInternal,
        fmt::format("internal error: {}\nhint: this is a defect of ddpsim; please report it with the input",
                    error.what())};
  } catch (const EnvironmentError& error) {
    return {kEnvironment, error.what()};
  } catch (const std::bad_alloc&) {
    return {kEnvironment, fmt::format("error: out of memory\nhint: {}", kMemoryHint)};
  } catch (const std::system_error& error) {
    if (std::ferror(stdout)) return {kBadInput, broken_standard_output().what()};  // from fmt::print
    if (!is_shortage(error.code())) return {kInternal, fmt::format("internal error: {}", error.what())};
    return {kEnvironment, fmt::format("error: {}\nhint: {}", error.what(), kShortageHint)};
  } catch (const std::exception& error) {
    return {kInternal, fmt::format("internal error: {}", error.what())};
  }
}

int fail(const Failure& failure) {
  std::cout.flush();
  print_stderr("{}\n", failure.message);
  return failure.code;
}

int fail_with_current_exception() noexcept {
  try {
    return fail(failure_of(std::current_exception()));
  } catch (...) {
    for (const char* part : {"error: out of memory\nhint: ", kMemoryHint, "\n"}) write_stderr(part);
    return kEnvironment;
  }
}

OutputPhase::OutputPhase() {
  mask_interrupts(SIG_BLOCK);
}
OutputPhase::~OutputPhase() {
  mask_interrupts(SIG_UNBLOCK);
}

FirstInterrupt::FirstInterrupt() {
  has_come = 0;
  notes_first = 1;
}
FirstInterrupt::~FirstInterrupt() {
  notes_first = 0;
}
bool FirstInterrupt::came() {
  return notes_first && has_come;
}

RemovedOnInterrupt::RemovedOnInterrupt(const std::string& path) : place_(-1) {
  if (path.size() >= PATH_MAX) return;
  OutputPhase undisturbed;
  for (int place = 0; place < kPlaces && place_ < 0; ++place)
    if (!to_remove[place][0]) place_ = place;
  if (place_ >= 0) std::memcpy(to_remove[place_], path.c_str(), path.size() + 1);
}

RemovedOnInterrupt::~RemovedOnInterrupt() {
  if (place_ >= 0) to_remove[place_][0] = '\0';
}

void check_standard_output() {
  std::cout.flush();
  if (!std::cout || std::fflush(stdout) != 0 || std::ferror(stdout)) throw broken_standard_output();
}

void start_program() {
  occupy_standard_descriptors();
  std::set_terminate(on_terminate);
  std::signal(SIGINT, on_interrupt);
  std::signal(SIGTERM, on_interrupt);
  std::signal(SIGXFSZ, SIG_IGN);  // the write fails instead, and that is reported
  // Whoever started us with SIGPIPE ignored wants failed writes.
  if (std::signal(SIGPIPE, on_broken_pipe) == SIG_IGN) std::signal(SIGPIPE, SIG_IGN);
}

}  // namespace ddpsim
