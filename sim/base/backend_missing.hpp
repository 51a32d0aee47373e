#pragma once
#include <stdexcept>

namespace ddpsim {

// A program or library that this command needs is not there. The message says how to get it; exit code 3.
class BackendMissing : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace ddpsim
