#pragma once
// Tables of an enum: what its values are called, for who reads them and who writes them, and rows of what
// they are like.
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

// Whether a table has a row an enumerator up to the last one, each at its number.
template <class Row, std::size_t n, class Enum>
constexpr bool has_each_in_order(const std::array<Row, n>& rows, Enum Row::*of, Enum last) {
  for (std::size_t i = 0; i < n; ++i)
    if (rows[i].*of != static_cast<Enum>(i)) return false;
  return rows.back().*of == last;
}

}  // namespace ddpsim
