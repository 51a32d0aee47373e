#pragma once
// Tests pin whole error messages.
#include <sstream>
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

// "3-6": columns that are marked.
inline std::string columns(std::size_t first, std::size_t length) {
  return std::to_string(first) + (length > 1 ? "-" + std::to_string(first + length - 1) : "");
}
// The same without the lines it quotes: "a.yaml:1:6-7: '25ms' is a time, not a size; write a size like
// 25MiB". Whole ones: tests/base/source_test.cpp and tests/cli/bad_input.
inline std::string brief(const std::string& message) {
  std::string before, text, hint;
  std::size_t marked = 0;
  std::istringstream lines(message);
  for (std::string line; std::getline(lines, line);) {
    auto error = line.find("error: ");
    if (text.empty() && error != std::string::npos)
      before = line.substr(0, error), text = line.substr(error + 7);
    else if (line.starts_with("hint: "))
      hint += "; " + line.substr(6);
    else if (auto caret = line.find_first_not_of(" |"); caret != std::string::npos && line[caret] == '^')
      marked = line.size() - caret;
  }
  if (marked > 1) {  // "a.yaml:1:6: "
    before.resize(before.size() - 2);
    auto end = before.rfind(':') + 1;
    before = before.substr(0, end) + columns(std::stoul(before.substr(end)), marked) + ": ";
  }
  return before + text + hint;
}
template <class Action>
std::string brief_error(Action&& action) {
  return brief(input_error(action));
}

}  // namespace ddpsim::testing
