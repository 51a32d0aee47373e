#include "sim/report/memory_table.hpp"

#include <array>
#include <ostream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "sim/report/json_parts.hpp"

namespace ddpsim {
namespace {

using json::Json;

std::array<std::pair<const char*, Bytes>, 6> rows_of(const MemoryParts& parts) {
  return {{{"parameters", parts.parameters},
           {"gradients", parts.gradients},
           {"optimizer", parts.optimizer},
           {"activations", parts.activations},
           {"buckets", parts.buckets},
           {"other", parts.other}}};
}

void print_row(std::ostream& out, std::string_view name, Bytes bytes, Bytes capacity) {
  out << fmt::format("{:<14}{:>12.2f} GB {:>7.1f} %\n", name, bytes.value() / 1e9, 100 * (bytes / capacity));
}

}  // namespace

void print_memory(std::ostream& out, const MemoryMetrics& memory, std::span<const MemoryOption> options) {
  const auto& parts = memory.parts;
  out << fit_line(memory) << '\n';
  for (const auto& [name, bytes] : rows_of(parts)) print_row(out, name, bytes, memory.capacity);
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
  Json result;
  result["memory"] = json::memory_json(memory);
  result["gpu"] = memory.gpu;
  auto& changes = result["changes"] = Json::array();
  for (const auto& option : options)
    changes.push_back({{"change", option.change},
                       {"peak_bytes", json::bytes(option.peak)},
                       {"fits", fit_of(option.peak, memory.capacity) == Fit::yes}});
  result["notes"] = json::notes(notes);
  result["tool"] = json::tool(tool);
  return json::text_of(result);
}

std::string memory_csv(const MemoryMetrics& memory) {
  std::string csv = "part,bytes\n";
  for (const auto& [name, bytes] : rows_of(memory.parts))
    csv += fmt::format("{},{:.0f}\n", name, bytes.value());
  return csv + fmt::format("peak,{:.0f}\n", memory.parts.peak().value());
}

}  // namespace ddpsim
