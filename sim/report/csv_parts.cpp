#include "sim/report/csv_parts.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/csv.hpp"
#include "sim/report/sweep_result.hpp"

namespace ddpsim::csv {
namespace {

bool is_result_key(std::string_view axis) {
  constexpr std::array<std::string_view, 3> known{kBucketCapAxis, "cluster.world_size", "strategy"};
  return std::find(known.begin(), known.end(), axis) != known.end();
}

}  // namespace

void append(Record& record, const Record& more) {
  record.insert(record.end(), more.begin(), more.end());
}

std::string line_of(const Record& fields) {
  Record quoted;
  for (const auto& field : fields) quoted.push_back(csv_field(field));
  return fmt::format("{}\n", fmt::join(quoted, ","));
}

std::string bytes(Bytes bytes) {
  return fmt::format("{}", static_cast<std::int64_t>(bytes.value()));
}

std::string seconds(Seconds time) {
  return fmt::format("{}", time.value());
}

std::string number(const std::optional<double>& value) {
  return value ? fmt::format("{}", *value) : "";
}

Record other_axes(const std::vector<std::string>& axes, const std::vector<std::string>& of_each) {
  Record others;
  for (std::size_t i = 0; i < axes.size(); ++i)
    if (!is_result_key(axes[i])) others.push_back(of_each.at(i));
  return others;
}

}  // namespace ddpsim::csv
