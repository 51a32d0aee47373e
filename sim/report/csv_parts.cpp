#include "sim/report/csv_parts.hpp"

#include <cstdint>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/csv.hpp"
#include "sim/result/sweep_result.hpp"

namespace ddpsim::csv {

void append(Record& record, const Record& more) {
  record.insert(record.end(), more.begin(), more.end());
}

std::string line_of(const Record& fields) {
  Record quoted;
  for (const auto& field : fields) quoted.push_back(csv_field(field));
  return fmt::format("{}\n", fmt::join(quoted, ","));
}

std::string text_of(const Cell& cell) {
  return std::visit(
      [](const auto& value) -> std::string {
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::same_as<T, bool>)
          return value ? "1" : "0";
        else if constexpr (std::same_as<T, Bytes>)
          return fmt::format("{}", static_cast<std::int64_t>(value.value()));
        else if constexpr (requires { value.value(); })
          return fmt::format("{}", value.value());
        else if constexpr (requires {
                             value.size();
                             value.substr(0);
                           } ||
                           std::is_arithmetic_v<T>)
          return fmt::format("{}", value);
        else
          return "";
      },
      cell.value);
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
