#pragma once
// A remark on a result: what it leaves out, or what is unusual about its input.
#include <compare>
#include <string>
#include <string_view>

namespace ddpsim {

struct Note {
  std::string code;  // stable: "table-extrapolated"; docs/reference/results.md lists them
  std::string text;  // one line

  auto operator<=>(const Note&) const = default;
};

// A code that more than its writer asks for: Gloo over links that describe no hosts.
inline constexpr std::string_view kGlooWithoutHosts = "gloo-without-hosts";

}  // namespace ddpsim
