#include "sim/report/csv_parts.hpp"

#include <cstdint>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/csv.hpp"
#include "sim/report/sweep_result.hpp"

namespace ddpsim::csv {

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

std::string_view result_column(std::string_view axis) {
  static const std::map<std::string_view, std::string_view> columns{
      {kBucketCapAxis, "bucket_cap_bytes"}, {"cluster.world_size", "world_size"}, {"strategy", "strategy"}};
  auto found = columns.find(axis);
  return found == columns.end() ? std::string_view() : found->second;
}

Record other_axes(const std::vector<std::string>& axes, const std::vector<std::string>& of_each) {
  Record others;
  for (std::size_t i = 0; i < axes.size(); ++i)
    if (result_column(axes[i]).empty()) others.push_back(of_each.at(i));
  return others;
}

}  // namespace ddpsim::csv
