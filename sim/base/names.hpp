#pragma once
// What the values of an enum are called: one table for who reads them and who writes them.
#include <array>
#include <string_view>
#include <utility>

namespace ddpsim {

template <class Enum, std::size_t n>
using Names = std::array<std::pair<std::string_view, Enum>, n>;

template <class Enum, std::size_t n>
constexpr std::string_view name_in(const Names<Enum, n>& names, Enum value) {
  for (const auto& [name, one] : names)
    if (one == value) return name;
  return "?";
}

}  // namespace ddpsim
