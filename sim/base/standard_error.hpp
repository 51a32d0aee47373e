#pragma once
// The only way to standard error. A message that cannot be written is lost; it never costs the result.
#include <string_view>
#include <utility>

#include <fmt/core.h>

namespace ddpsim {

// Never throws, and may be called in a signal handler.
void write_stderr(std::string_view text) noexcept;

template <class... Values>
void print_stderr(fmt::format_string<Values...> format, Values&&... values) {
  write_stderr(fmt::format(format, std::forward<Values>(values)...));
}

}  // namespace ddpsim
