#pragma once
// How a program of ddpsim ends: exit codes, and what an exception that reached main means to the user.
#include <exception>
#include <stdexcept>
#include <string>

namespace ddpsim {

enum ExitCode {
  kOk = 0,
  kMissed = 1,
  kBadInput = 2,
  kNotAvailable = 3,
  kInterrupted = 4,
  kRunFailed = 5,
  kInternal = 70
};

// A run on real hardware that went wrong; exit code 5.
class RunFailed : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// All went well, and a prediction was farther off than the user allows; exit code 1.
class ThresholdMissed : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct Failure {
  ExitCode code;
  std::string message;
};

// What it means; of an exception that is none of ours, an internal error.
Failure failure_of(const std::exception_ptr& exception);

// Prints the message to standard error, after what was written to standard output. Returns the code.
int fail(const Failure& failure);

// From here on SIGINT and SIGTERM end the program at once with exit code 4.
void leave_on_interrupt();

// A file or empty folder that an interrupt removes, for as long as this lives: those of later ones first. At
// most 32 at a time; more are left behind.
class RemovedOnInterrupt {
 public:
  explicit RemovedOnInterrupt(const std::string& path);
  ~RemovedOnInterrupt();
  RemovedOnInterrupt(const RemovedOnInterrupt&) = delete;
  RemovedOnInterrupt& operator=(const RemovedOnInterrupt&) = delete;

 private:
  int place_;  // in the table that the signal handler reads; -1: none was free
};

// While one lives, an interrupt waits: a temporary file is renamed or removed before the program leaves.
class OutputPhase {
 public:
  OutputPhase();
  ~OutputPhase();
  OutputPhase(const OutputPhase&) = delete;
  OutputPhase& operator=(const OutputPhase&) = delete;
};

// Throws InputError when what was written to standard output did not get there.
void check_standard_output();

}  // namespace ddpsim
