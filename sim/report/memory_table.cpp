#include "sim/report/memory_table.hpp"

#include <ostream>

#include <fmt/format.h>

#include "sim/result/iteration_columns.hpp"
#include "sim/result/json_parts.hpp"

namespace ddpsim {
namespace {

void print_row(std::ostream& out, std::string_view name, Bytes bytes, Bytes capacity) {
  out << fmt::format("{:<14}{:>12.2f} GB {:>7.1f} %\n", name, bytes.value() / 1e9, 100 * (bytes / capacity));
}

void print_stages(std::ostream& out, std::span<const SharedModelMetrics::Stage> stages, Bytes capacity) {
  out << "\nstage  blocks     allocated          peak\n";
  for (std::size_t i = 0; i < stages.size(); ++i)
    out << fmt::format("{:<5}{:>8}{:>11.2f} GB{:>11.2f} GB {:>5.1f} %\n", i, stages[i].layers,
                       stages[i].memory.allocated().value() / 1e9, stages[i].memory.peak().value() / 1e9,
                       100 * (stages[i].memory.peak() / capacity));
}

void print_ranks(std::ostream& out, std::span<const MemoryReport::OfRank> ranks, Bytes capacity) {
  out << "\nrank      allocated          peak\n";
  for (const auto& [rank, memory] : ranks)
    out << fmt::format("{:<6}{:>10.2f} GB{:>11.2f} GB {:>5.1f} %\n", rank, memory.allocated().value() / 1e9,
                       memory.peak().value() / 1e9, 100 * (memory.peak() / capacity));
}

}  // namespace

void print_memory(std::ostream& out, const MemoryReport& report) {
  const auto& [memory, stages, ranks, options] = report;
  const auto& parts = memory.parts;
  out << fit_line(memory) << '\n';
  for (const auto& part : kMemoryParts) print_row(out, part.name, parts.*part.bytes, memory.capacity);
  print_row(out, "peak", parts.peak(), memory.capacity);
  print_row(out, "  allocated", parts.allocated(), memory.capacity);
  if (memory.others)
    out << fmt::format("of GPU 0, which has the loss and the optimizer; the others hold {:.1f} GB\n",
                       memory.others->value() / 1e9);
  if (stages.size() > 1) print_stages(out, stages, memory.capacity);
  if (ranks.size() > 1) print_ranks(out, ranks, memory.capacity);
  if (options.empty()) return;
  out << "\nwhat would change it\n";
  for (const auto& option : options)
    out << fmt::format("{:>12.2f} GB  {:<12}  {}\n", option.peak.value() / 1e9,
                       fit_word(fit_of(option.peak, memory.capacity)), option.change);
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
