#pragma once
#include <stdexcept>
#include <string>

namespace ddpsim {

// For memory that was refused, and for all that is refused but memory: processes, files.
inline constexpr const char* kMemoryHint =
    "give it more memory, or make the work smaller: fewer ranks, fewer points of a sweep, fewer --jobs";
inline constexpr const char* kShortageHint =
    "use fewer --jobs, end other programs, or raise the limit (ulimit -a lists them)";

// The machine refused what the program needs. Neither the input nor the program is wrong; exit code 6.
// what() is the message and the hint.
class EnvironmentError : public std::runtime_error {
 public:
  EnvironmentError(const std::string& message, const std::string& hint)
      : std::runtime_error("error: " + message + "\nhint: " + hint), message_(message), hint_(hint) {}
  [[nodiscard]] const std::string& message() const { return message_; }
  [[nodiscard]] const std::string& hint() const { return hint_; }

 private:
  std::string message_, hint_;
};

}  // namespace ddpsim
