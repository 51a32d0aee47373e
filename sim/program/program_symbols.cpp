#include "sim/program/program_symbols.hpp"

#include <span>

#include <fmt/format.h>

#include "sim/program/shard_units.hpp"

namespace ddpsim {
namespace {

void add_sizes(const std::string& of, std::span<const std::size_t> gradients, const LayerTrace& trace,
               DType computed, ProgramSymbols& symbols) {
  std::int64_t elements = 0;
  Bytes bytes;
  for (auto gradient : gradients) {
    const auto& one = trace.gradients[gradient];
    elements += one.elements;
    if (!one.is_frozen) bytes += one.bytes();
  }
  symbols.counts[of + "elements"] = elements;
  symbols.values[of + "parameters"] = Bytes(static_cast<double>(elements) * bytes_per_element(computed));
  symbols.values[of + "gradients"] = bytes;
}

}  // namespace

ProgramSymbols program_symbols(const LayerTrace& trace, DType computed) {
  ProgramSymbols symbols;
  auto& values = symbols.values;
  values["forward"] = trace.forward.value_or(Seconds());
  values["backward"] = trace.backward();
  values["optimizer"] = trace.optimizer.value_or(Seconds());
  add_sizes("", reverse_of_arrival(trace.gradients.size()), trace, computed, symbols);
  auto units = shard_units(trace, {});
  // Without anything outside its blocks the first one is where the rest would be.
  std::size_t first = units.front().name == "root" ? 1 : 0;
  symbols.counts["blocks"] = static_cast<std::int64_t>(units.size() - first);
  auto name_of = [&](std::size_t unit) {
    return unit < first ? std::string("root.") : fmt::format("block.{}.", unit - first);
  };
  for (std::size_t u = 0; u < units.size(); ++u)
    add_sizes(name_of(u), units[u].gradients, trace, computed, symbols);
  auto forward = forward_passes(trace, units), backward = backward_passes(trace, units);
  auto pass = [&](const std::string& name, Seconds time) { values[name] = time; };
  if (units.size() == 1) {
    pass(first == 0 ? "block.0.forward" : "root.forward", forward.front().duration);
    pass(first == 0 ? "block.0.backward" : "root.backward", backward.front().duration);
    return symbols;
  }
  for (const auto& [unit, time] : forward)
    if (unit > 0) pass(name_of(unit) + "forward", time);
  for (const auto& [unit, time] : backward)
    if (unit > 0) pass(name_of(unit) + "backward", time);
  // The root comes first and last.
  pass(first == 0 ? "block.0.forward" : "embedding.forward", forward.front().duration);
  pass("head.forward", forward.back().duration);
  pass("head.backward", backward.front().duration);
  pass(first == 0 ? "block.0.backward" : "embedding.backward", backward.back().duration);
  return symbols;
}

void set_copies(const Overheads& overheads, ProgramSymbols& symbols) {
  symbols.copy_bandwidth = overheads.pass_bandwidth;
  symbols.copy_launch = overheads.pass_launch;
}

}  // namespace ddpsim
