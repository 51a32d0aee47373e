#pragma once
// DDPSIM_CHECK guards what the program itself promises; a user's mistake is an InputError instead
// (sim/base/source.hpp).
#include <stdexcept>
#include <string>

namespace ddpsim {

// A broken promise of the program: reported as an internal error, never as the user's fault.
class InternalError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

[[noreturn]] void fail_check(const char* condition, const char* file, int line, const std::string& message);

}  // namespace ddpsim

#define DDPSIM_CHECK(condition, message) \
  ((condition) ? void(0) : ::ddpsim::fail_check(#condition, __FILE__, __LINE__, message))
