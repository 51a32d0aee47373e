#include "sim/base/program_exit.hpp"

#include <climits>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <new>

#include <fmt/format.h>
#include <unistd.h>

#include "sim/base/backend_missing.hpp"
#include "sim/base/check.hpp"
#include "sim/base/source.hpp"

namespace ddpsim {
namespace {

// What is to be removed, as a signal handler can read it. A path ends with NUL; an empty one is a free place.
constexpr int kPlaces = 32;
char to_remove[kPlaces][PATH_MAX];

// Workers die with this process, and outputs are whole or absent: leaving at once is safe.
void on_interrupt(int) {
  for (int place = kPlaces - 1; place >= 0; --place)
    if (to_remove[place][0] && unlink(to_remove[place]) != 0) rmdir(to_remove[place]);
  constexpr char message[] = "interrupted\n";
  [[maybe_unused]] auto written = write(STDERR_FILENO, message, sizeof message - 1);
  _exit(kInterrupted);
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
  } catch (const ThresholdMissed& missed) {
    return {kMissed, missed.what()};
  } catch (const InternalError& error) {
    return {
        kInternal,
        fmt::format("internal error: {}\nhint: this is a defect of ddpsim; please report it with the input",
                    error.what())};
  } catch (const std::bad_alloc&) {
    return {kInternal, "error: out of memory\nhint: simulate fewer ranks, or use fidelity: auto"};
  } catch (const std::exception& error) {
    return {kInternal, fmt::format("internal error: {}", error.what())};
  }
}

int fail(const Failure& failure) {
  std::cout.flush();
  fmt::print(stderr, "{}\n", failure.message);
  return failure.code;
}

OutputPhase::OutputPhase() {
  mask_interrupts(SIG_BLOCK);
}
OutputPhase::~OutputPhase() {
  mask_interrupts(SIG_UNBLOCK);
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
  if (!std::cout) throw InputError("standard output cannot be written to its end", "is the disk full?");
}

void leave_on_interrupt() {
  std::signal(SIGINT, on_interrupt);
  std::signal(SIGTERM, on_interrupt);
}

}  // namespace ddpsim
