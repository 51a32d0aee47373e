#pragma once
// A remark on a result: what it leaves out, or what is unusual about its input.
#include <compare>
#include <string>

namespace ddpsim {

struct Note {
  std::string code;  // stable: "table-extrapolated"; docs/formats.md lists them
  std::string text;  // one line

  auto operator<=>(const Note&) const = default;
};

}  // namespace ddpsim
