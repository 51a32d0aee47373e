#include "sim/program/module_passes.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>

#include "sim/program/shard_units.hpp"
#include "sim/trace/forward_ends.hpp"

namespace ddpsim {
namespace {

std::string_view module_of(std::string_view name) {
  auto dot = name.rfind('.');
  return dot == std::string_view::npos ? name : name.substr(0, dot);
}

// In the order in which their last gradients arrive.
std::vector<std::vector<std::size_t>> modules_of(const LayerTrace& trace) {
  std::map<std::string_view, std::vector<std::size_t>> by_name;
  for (std::size_t g = 0; g < trace.gradients.size(); ++g)
    by_name[module_of(trace.gradients[g].name)].push_back(g);
  std::vector<std::vector<std::size_t>> modules;
  for (auto& [name, gradients] : by_name) modules.push_back(std::move(gradients));
  std::sort(modules.begin(), modules.end(), [](const auto& a, const auto& b) { return a.back() < b.back(); });
  return modules;
}

// The embedding's matrix, where the head has none of its own.
std::optional<std::size_t> shared_by_head(const LayerTrace& trace) {
  auto units = shard_units(trace, {});
  if (units.size() == 1) return std::nullopt;
  auto first_of_blocks = trace.gradients.size();
  for (std::size_t u = 1; u < units.size(); ++u)
    first_of_blocks = std::min(first_of_blocks, units[u].gradients.front());
  std::optional<std::size_t> embedding;
  std::int64_t of_head = 0;
  for (auto gradient : units.front().gradients) {
    auto elements = trace.gradients[gradient].elements;
    if (gradient < first_of_blocks)
      of_head = std::max(of_head, elements);
    else if (!embedding || elements > trace.gradients[*embedding].elements)
      embedding = gradient;
  }
  if (!embedding || 2 * of_head >= trace.gradients[*embedding].elements) return std::nullopt;
  return embedding;
}

// `last`: the pass that the head is in.
void use_embedding(const LayerTrace& trace, ModulePass& last) {
  auto shared = shared_by_head(trace);
  if (shared && std::find(last.used.begin(), last.used.end(), *shared) == last.used.end())
    last.used.push_back(*shared);
}

}  // namespace

std::vector<ModulePass> forward_modules(const LayerTrace& trace) {
  auto ends = forward_ends(trace).ends;
  auto modules = modules_of(trace);
  std::reverse(modules.begin(), modules.end());
  auto end_of = [&](const std::vector<std::size_t>& module) {
    Seconds end;
    for (auto gradient : module) end = std::max(end, ends[gradient]);
    return end;
  };
  std::stable_sort(modules.begin(), modules.end(),
                   [&](const auto& a, const auto& b) { return end_of(a) < end_of(b); });
  std::vector<ModulePass> passes;
  Seconds now;
  for (const auto& module : modules) {
    auto end = std::max(now, std::min(end_of(module), trace.forward.value_or(Seconds())));
    passes.push_back({module, {}, end - now});
    now = end;
  }
  passes.back().duration += trace.forward.value_or(Seconds()) - now;
  use_embedding(trace, passes.back());
  return passes;
}

std::vector<ModulePass> backward_modules(const LayerTrace& trace) {
  std::vector<ModulePass> passes;
  Seconds now;
  for (auto& module : modules_of(trace)) {
    auto end = trace.gradients[module.back()].ready;
    passes.push_back({module, module, end - now});
    now = end;
  }
  use_embedding(trace, passes.front());
  return passes;
}

}  // namespace ddpsim
