#include "sim/report/collective_costs.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "sim/base/quantity.hpp"
#include "sim/report/csv_parts.hpp"
#include "sim/result/json_parts.hpp"

namespace ddpsim {
namespace {

Cell unless_empty(const std::string& text) {
  return text.empty() ? Cell() : Cell(text);
}

// Of what has a time.
template <class T>
std::function<Cell(const CollectiveCostRow&)> timed(T value) {
  return [value](const CollectiveCostRow& row) { return row.time ? Cell(std::invoke(value, row)) : Cell(); };
}

using CostRow = CollectiveCostRow;
const Columns<CostRow> kCostColumns{
    {"operation", &CostRow::operation},
    {"bytes", &CostRow::bytes},
    {"algorithm", &CostRow::algorithm},
    {"protocol", [](const CostRow& row) { return unless_empty(row.protocol); }},
    {"channels", timed(&CostRow::channels), kSomeJson | kCsv},
    {"time_s", &CostRow::time},
    {"why_not", [](const CostRow& row) { return unless_empty(row.why_not); }, kSomeJson},
    {"algbw_Bps", timed(&CostRow::algbw), kSomeJson | kCsv},
    {"busbw_Bps", timed(&CostRow::busbw), kSomeJson | kCsv},
    {"source", timed(&CostRow::source), kSomeJson | kCsv},
    {"source_text", [](const CostRow& row) { return row.time ? unless_empty(row.note) : Cell(); },
     kSomeJson | kCsv}};

}  // namespace

std::string collective_costs_table(const std::vector<CollectiveCostRow>& rows) {
  bool has_notes = std::any_of(rows.begin(), rows.end(), [](const auto& row) { return !row.note.empty(); });
  auto algorithm_of = [](const CollectiveCostRow& row) {
    return row.protocol.empty() ? row.algorithm : row.algorithm + "/" + row.protocol;
  };
  std::size_t width = 18;
  for (const auto& row : rows) width = std::max(width, algorithm_of(row).size());
  auto text =
      fmt::format("{:<16}{:>10}  {:<{}}{:>8}  {:>12}  {:>12}  {:>12}{}\n", "collective", "bytes", "algorithm",
                  width, "channels", "time", "algbw", "busbw", has_notes ? "  the time is" : "");
  for (const auto& row : rows) {
    text +=
        fmt::format("{:<16}{:>10}  {:<{}}", row.operation, format_bytes(row.bytes), algorithm_of(row), width);
    if (row.time)
      text += fmt::format("{:>8}  {:>12}  {:>12}  {:>12}{}{}\n", row.channels, format_seconds(*row.time),
                          format_bandwidth(row.algbw()), format_bandwidth(row.busbw()),
                          row.note.empty() ? "" : "  ", row.note);
    else
      text += row.why_not + "\n";
  }
  return text;
}

std::string collective_costs_json(const CollectiveCostsOf& whose,
                                  const std::vector<CollectiveCostRow>& rows) {
  return json::text_of({{"topology", whose.topology},
                        {"world_size", whose.world_size},
                        {"nccl_version", unless_empty(whose.nccl_version)},
                        {"notes", json::notes(whose.notes)},
                        {"costs", fields_of_each(kCostColumns, rows)}});
}

std::string collective_costs_csv(const std::vector<CollectiveCostRow>& rows) {
  auto known = rows;
  std::erase_if(known, [](const CollectiveCostRow& row) { return !row.time; });
  return csv::table(kCostColumns, known);
}

}  // namespace ddpsim
