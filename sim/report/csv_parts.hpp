#pragma once
// What the CSVs of several results have in common.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/units.hpp"

namespace ddpsim::csv {

using Record = std::vector<std::string>;

void append(Record& record, const Record& more);
std::string line_of(const Record& fields);  // quoted where they must be

std::string bytes(Bytes bytes);
std::string seconds(Seconds time);
std::string number(const std::optional<double>& value);  // empty for none

// The column of a result that says an axis' value already; empty: none does.
std::string_view result_column(std::string_view axis);
// The axes, or their values, that no such column says.
Record other_axes(const std::vector<std::string>& axes, const std::vector<std::string>& of_each);

}  // namespace ddpsim::csv
