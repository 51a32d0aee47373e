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

}  // namespace

void print_memory(std::ostream& out, const MemoryMetrics& memory, std::span<const MemoryOption> options) {
  const auto& parts = memory.parts;
  out << fit_line(memory) << '\n';
  for (const auto& part : kMemoryParts) print_row(out, part.name, parts.*part.bytes, memory.capacity);
  print_row(out, "peak", parts.peak(), memory.capacity);
  if (memory.others)
    out << fmt::format("of GPU 0, which has the loss and the optimizer; the others hold {:.1f} GB\n",
                       memory.others->value() / 1e9);
  if (options.empty()) return;
  out << "\nwhat would change it\n";
  for (const auto& option : options)
    out << fmt::format("{:>12.2f} GB  {:<12}  {}\n", option.peak.value() / 1e9,
                       fit_word(fit_of(option.peak, memory.capacity)), option.change);
}

std::string memory_report_json(const MemoryMetrics& memory, std::span<const MemoryOption> options,
                               const ToolInfo& tool, const std::vector<Note>& notes) {
  Cell::List changes;
  for (const auto& option : options)
    changes.emplace_back(Cell::Fields{{"change", option.change},
                                      {"peak_bytes", option.peak},
                                      {"fits", fit_of(option.peak, memory.capacity) == Fit::yes}});
  return json::text_of({{"memory", fields(kMemoryColumns, memory)},
                        {"gpu", memory.gpu},
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
