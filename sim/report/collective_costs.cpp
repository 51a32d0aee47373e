#include "sim/report/collective_costs.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "sim/base/quantity.hpp"
#include "sim/report/csv_parts.hpp"
#include "sim/report/figures.hpp"
#include "sim/report/shown_table.hpp"
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

ShownTable collective_costs_table(const std::vector<CollectiveCostRow>& rows) {
  auto picked = [](const CollectiveCostRow& row) {
    return row.protocol.empty() ? row.algorithm : row.algorithm + "/" + row.protocol;
  };
  auto itself = [](const CollectiveCostRow& row) {
    return row.unforced ? unforced_text(*row.unforced, row.algorithm, row.protocol) : std::string();
  };
  ShownTable table;
  table.add("collective", rows, &CostRow::operation, 0, Form::plain, true);
  table.add("size", rows,
            [](const CostRow& row) { return short_text(row.bytes.value(), Measure::binary_bytes); });
  table.add("time", rows, &CostRow::time);
  table.add("busbw", rows, timed(&CostRow::busbw));
  table.add("algbw", rows, timed(&CostRow::algbw), 4);
  table.add("algorithm", rows, picked, 1, Form::plain, true);
  table.add("channels", rows, timed(&CostRow::channels));
  table.add("by itself", rows, itself, 0, Form::plain, true);
  table.add(
      "the time is", rows, [](const CostRow& row) { return row.time ? row.note : row.why_not; }, 1,
      Form::plain, true);
  return table;
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
