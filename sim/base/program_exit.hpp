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
  kEnvironment = 6,
  kTooNoisy = 7,
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

// All went well, but what was measured is too noisy to say whether a threshold is missed; exit code 7.
class TooNoisy : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct Failure {
  ExitCode code;
  std::string message;
};

// Whoever waited has seen enough, and what was known by then is told; exit code 4.
class Interrupted : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// What it means; of an exception that nobody here knows, an internal error.
Failure failure_of(const std::exception_ptr& exception);

// Prints the message to standard error, after what was written to standard output. Returns the code.
int fail(const Failure& failure);
// The same for the exception being handled; has a message even when there is no memory for one.
int fail_with_current_exception() noexcept;

// The first call of every program. From here on SIGINT (but for a FirstInterrupt) and SIGTERM end it at once
// with exit code 4; a broken
// pipe ends it as it ends other programs, with nothing left behind; a file that outgrows its limit is a
// failed write; an exception that nobody caught is reported; and no file that is opened takes the number of a
// closed standard stream.
void start_program();

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

// While one lives the first SIGINT is noted only, and a second one ends the program: what takes long has
// something to tell by then.
class FirstInterrupt {
 public:
  FirstInterrupt();
  ~FirstInterrupt();
  FirstInterrupt(const FirstInterrupt&) = delete;
  FirstInterrupt& operator=(const FirstInterrupt&) = delete;
  [[nodiscard]] static bool came();
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
