#pragma once
// Pieces of vertex and link names.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/counted.hpp"
#include "sim/base/source.hpp"

namespace ddpsim {

// 12 for "node" and "node12"; nullopt when the text is anything else, "node012" included.
std::optional<int> number_after(std::string_view word, std::string_view text);

// "A>B" names one direction, "A-B" both. Every way to read the name: vertex names may hold a '-' themselves.
struct LinkEnds {
  std::string from;
  std::string to;
  bool both_ways;
};
std::vector<LinkEnds> possible_ends(const std::string& name);

// What an operating system calls a NIC, "mlx5_3", as far as it can be part of a link's name.
bool is_device_name(std::string_view name);

// "there is no link 'x'; did you mean 'y'?"
[[noreturn]] void throw_unknown_link(const std::string& name, const SourceSpan& place,
                                     const std::vector<std::string>& candidates, std::string_view hint);

}  // namespace ddpsim
