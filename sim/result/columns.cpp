#include "sim/result/columns.hpp"

namespace ddpsim {

// Not where cells are used: the compiler would take what is inlined for uninitialized.
Cell::Cell(const Cell& other) = default;
Cell::Cell(Cell&& other) noexcept = default;
Cell& Cell::operator=(const Cell& other) = default;
Cell& Cell::operator=(Cell&& other) noexcept = default;
Cell::~Cell() = default;

}  // namespace ddpsim
