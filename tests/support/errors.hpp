#pragma once
// Tests pin whole error messages.
#include <string>

#include <gtest/gtest.h>

#include "sim/base/source.hpp"

namespace ddpsim::testing {

// The whole text of the InputError that `action` throws; a test failure and "" when it throws none.
template <class Action>
std::string input_error(Action&& action) {
  try {
    action();
  } catch (const InputError& error) {
    return error.what();
  }
  ADD_FAILURE() << "no InputError was thrown";
  return {};
}

}  // namespace ddpsim::testing
