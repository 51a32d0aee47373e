#include "sim/report/memory_table.hpp"

#include <ostream>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "sim/report/bars.hpp"
#include "sim/report/shown_table.hpp"
#include "sim/result/iteration_columns.hpp"
#include "sim/result/json_parts.hpp"

namespace ddpsim {
namespace {

// What each of several holds.
template <class Row>
void add_memory(ShownTable& table, const std::vector<Row>& rows, Bytes capacity) {
  table.add("allocated", rows, [](const Row& row) { return row.memory.allocated(); });
  table.add("peak", rows, [](const Row& row) { return row.memory.peak(); });
  table.add(
      "of a GPU's", rows, [capacity](const Row& row) { return row.memory.peak() / capacity; }, 0,
      Form::share);
}

ShownTable stages_table(const std::vector<SharedModelMetrics::Stage>& stages, Bytes capacity) {
  ShownTable table;
  table.add("stage", stages,
            [&](const auto& stage) { return static_cast<std::int64_t>(&stage - stages.data()); });
  table.add("blocks", stages, &SharedModelMetrics::Stage::layers);
  add_memory(table, stages, capacity);
  return table;
}

ShownTable ranks_table(const std::vector<MemoryReport::OfRank>& ranks, Bytes capacity) {
  ShownTable table;
  table.add("rank", ranks, &MemoryReport::OfRank::rank);
  add_memory(table, ranks, capacity);
  return table;
}

ShownTable options_table(const std::vector<MemoryOption>& options, Bytes capacity) {
  ShownTable table;
  table.add("peak", options, &MemoryOption::peak);
  table.add(
      "", options, [&](const auto& one) { return fit_word(fit_of(one.peak, capacity)); }, 0, Form::plain,
      true);
  table.add("what would change it", options, &MemoryOption::change, 0, Form::plain, true);
  return table;
}

}  // namespace

void print_memory(std::ostream& out, const Terminal& terminal, const MemoryReport& report) {
  const auto& [memory, stages, ranks, options] = report;
  const auto& parts = memory.parts;
  std::vector<Bar> bars;
  for (const auto& part : kMemoryParts) bars.push_back({std::string(part.name), parts.*part.bytes});
  bars.push_back({"peak", parts.peak()});
  bars.push_back({"  allocated", parts.allocated()});
  print_bars(out, terminal, bars, memory.capacity.value());
  out << '\n' << terminal.wrapped(fit_line(memory), Look::verdict) << '\n';
  if (memory.others)
    out << terminal.wrapped(
               fmt::format("of GPU 0, which has the loss and the optimizer; the others hold {:.1f} GB",
                           memory.others->value() / 1e9))
        << '\n';
  auto print = [&](const ShownTable& table) {
    out << '\n';
    print_shown(out, terminal, table);
  };
  if (stages.size() > 1) print(stages_table(stages, memory.capacity));
  if (ranks.size() > 1) print(ranks_table(ranks, memory.capacity));
  if (!options.empty()) print(options_table(options, memory.capacity));
}

std::string memory_report_json(const MemoryReport& report, const ToolInfo& tool,
                               const std::vector<Note>& notes) {
  const auto& [memory, stages, ranks, options] = report;
  Cell::List changes, of_ranks;
  for (const auto& [rank, held] : ranks)
    of_ranks.emplace_back(
        Cell::Fields{{"rank", rank}, {"allocated_bytes", held.allocated()}, {"peak_bytes", held.peak()}});
  for (const auto& option : options)
    changes.emplace_back(Cell::Fields{{"change", option.change},
                                      {"peak_bytes", option.peak},
                                      {"fits", fit_of(option.peak, memory.capacity) == Fit::yes}});
  return json::text_of({{"memory", fields(kMemoryColumns, memory)},
                        {"gpu", memory.gpu},
                        {"stages", fields_of_each(kStageColumns, stages)},
                        {"ranks", of_ranks},
                        {"changes", changes},
                        {"notes", json::notes(notes)},
                        {"tool", json::tool(tool)}});
}

std::string memory_csv(const MemoryMetrics& memory) {
  std::string csv = "part,bytes\n";
  for (const auto& part : kMemoryParts)
    csv += fmt::format("{},{:.0f}\n", part.name, (memory.parts.*part.bytes).value());
  return csv + fmt::format("peak,{:.0f}\n", memory.parts.peak().value());
}

}  // namespace ddpsim
