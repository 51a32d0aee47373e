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

// Of rows under something that is forced.
template <class T>
std::function<Cell(const CollectiveCostRow&)> unforced(T member) {
  return [member](const CollectiveCostRow& row) {
    return row.unforced ? Cell(std::invoke(member, *row.unforced)) : Cell();
  };
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
     kSomeJson | kCsv},
    {"unforced_algorithm", unforced(&UnforcedCost::algorithm), kSome},
    {"unforced_protocol", unforced(&UnforcedCost::protocol), kSome},
    {"unforced_time_s", unforced(&UnforcedCost::time), kSome}};

}  // namespace

std::string unforced_text(const UnforcedCost& unforced, std::string_view algorithm,
                          std::string_view protocol) {
  if (unforced.algorithm == algorithm && unforced.protocol == protocol) return "the same";
  auto name = unforced.protocol.empty() ? unforced.algorithm : unforced.algorithm + "/" + unforced.protocol;
  return unforced.time ? fmt::format("{}, {}", name, format_seconds(*unforced.time)) : name;
}

std::string collective_costs_table(const std::vector<CollectiveCostRow>& rows) {
  bool has_notes = std::any_of(rows.begin(), rows.end(), [](const auto& row) { return !row.note.empty(); });
  auto algorithm_of = [](const CollectiveCostRow& row) {
    return row.protocol.empty() ? row.algorithm : row.algorithm + "/" + row.protocol;
  };
  std::size_t width = 18, by_itself = 0;
  std::vector<std::string> own;
  for (const auto& row : rows) {
    width = std::max(width, algorithm_of(row).size());
    own.push_back(row.unforced ? unforced_text(*row.unforced, row.algorithm, row.protocol) : "");
    by_itself = std::max(by_itself, own.back().size());
  }
  if (by_itself > 0) by_itself = std::max(by_itself, std::string_view("by itself").size());
  auto own_column = [&](std::string_view text) {
    return by_itself > 0 ? fmt::format("  {:<{}}", text, by_itself) : std::string();
  };
  auto text = fmt::format("{:<16}{:>10}  {:<{}}{:>8}  {:>12}  {:>12}  {:>12}{}{}\n", "collective", "bytes",
                          "algorithm", width, "channels", "time", "algbw", "busbw", own_column("by itself"),
                          has_notes ? "  the time is" : "");
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto& row = rows[i];
    text +=
        fmt::format("{:<16}{:>10}  {:<{}}", row.operation, format_bytes(row.bytes), algorithm_of(row), width);
    if (row.time)
      text += fmt::format("{:>8}  {:>12}  {:>12}  {:>12}{}{}{}\n", row.channels, format_seconds(*row.time),
                          format_bandwidth(row.algbw()), format_bandwidth(row.busbw()), own_column(own[i]),
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
