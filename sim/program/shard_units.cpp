#include "sim/program/shard_units.hpp"

#include <algorithm>
#include <cctype>
#include <map>
#include <string_view>

#include <fmt/core.h>

#include "sim/base/module_names.hpp"
#include "sim/base/source.hpp"
#include "sim/trace/forward_ends.hpp"

namespace ddpsim {
namespace {

bool is_number(std::string_view part) {
  return !part.empty() &&
         std::all_of(part.begin(), part.end(), [](unsigned char c) { return std::isdigit(c); });
}

// Empty: in no block.
std::string_view block_of(std::string_view name) {
  for (std::size_t at = 0; at < name.size();) {
    auto end = std::min(name.find('.', at), name.size());
    if (is_number(name.substr(at, end - at))) return name.substr(0, end);
    at = end + 1;
  }
  return {};
}

// The module of all experts but the shared ones; empty: it is of no expert.
std::string_view experts_of(std::string_view name) {
  constexpr std::string_view kExperts = ".experts.";
  auto at = name.find(kExperts);
  return at == std::string_view::npos ? std::string_view() : name.substr(0, at + kExperts.size() - 1);
}

void check_names(const LayerTrace& trace, const std::vector<std::string>& names,
                 const std::vector<bool>& is_known) {
  auto unknown = std::ranges::find(is_known, false);
  if (unknown == is_known.end()) return;
  const auto& name = names[static_cast<std::size_t>(unknown - is_known.begin())];
  const std::string_view example = trace.gradients.front().name;
  throw InputError(
      fmt::format("no module is called '{}', or all of its parameters are in modules named here", name),
      fmt::format("a module is what the gradients' names say: '{}' is in '{}'", example,
                  example.substr(0, example.rfind('.'))));
}

void add(ShardUnit& unit, std::size_t gradient, const LayerTrace& trace) {
  unit.gradients.push_back(gradient);
  const auto& one = trace.gradients[gradient];
  unit.elements += one.elements;
  if (!one.is_frozen) unit.trained += one.elements;
}

Bytes bytes_of(const ShardUnit& unit, const LayerTrace& trace) {
  Bytes bytes;
  for (auto gradient : unit.gradients) bytes += trace.gradients[gradient].bytes();
  return bytes;
}

// The blocks of the model, or the modules that are named, in forward order.
std::vector<ShardUnit> blocks_of(const LayerTrace& trace, const UnitRule& rule, ShardUnit& root) {
  const auto& names = rule.names;
  std::map<std::string_view, std::size_t> known;
  std::vector<ShardUnit> blocks;
  std::vector<bool> is_known(names.size());
  for (std::size_t g = 0; g < trace.gradients.size(); ++g) {
    const std::string_view gradient = trace.gradients[g].name;
    auto name = names.empty() ? block_of(gradient) : named_module_of(gradient, names, is_known);
    auto experts = rule.experts_apart ? experts_of(gradient) : std::string_view();
    if (!experts.empty()) name = experts;
    if (name.empty()) {
      add(root, g, trace);
      continue;
    }
    auto [place, is_new] = known.emplace(name, blocks.size());
    if (is_new) blocks.push_back({std::string(name), {}, 0, 0, !experts.empty()});
    add(blocks[place->second], g, trace);
  }
  check_names(trace, names, is_known);
  std::sort(blocks.begin(), blocks.end(),
            [](const auto& a, const auto& b) { return a.gradients.back() > b.gradients.back(); });
  return blocks;
}

// Cuts a pass of that length at those ends, one a block in the order in which they run.
std::vector<UnitPass> cut(Seconds start, const std::vector<std::pair<std::size_t, Seconds>>& ends,
                          Seconds length) {
  std::vector<UnitPass> passes{{0, start}};
  auto now = start;
  for (auto [unit, end] : ends) {
    auto until = std::clamp(end, now, length);
    passes.push_back({unit, until - now});
    now = until;
  }
  passes.push_back({0, length - now});
  return passes;
}

Seconds last_end(const ShardUnit& unit, const std::vector<Seconds>& ends) {
  Seconds last;
  for (auto gradient : unit.gradients) last = std::max(last, ends[gradient]);
  return last;
}

// Of a block's modules that run before its experts do.
Seconds end_before(const ShardUnit& block, const ShardUnit& experts, const std::vector<Seconds>& ends) {
  auto first = ends[experts.gradients.front()];
  for (auto gradient : experts.gradients) first = std::min(first, ends[gradient]);
  Seconds last;
  for (auto gradient : block.gradients)
    if (ends[gradient] <= first) last = std::max(last, ends[gradient]);
  return last;
}

// Likewise backward, of those whose gradients arrive before any of the experts'.
Seconds ready_before(const ShardUnit& block, const ShardUnit& experts, const LayerTrace& trace) {
  Seconds last;
  for (auto gradient : block.gradients)
    if (gradient < experts.gradients.front()) last = std::max(last, trace.gradients[gradient].ready);
  return last;
}

}  // namespace

bool is_of_experts(std::string_view gradient) {
  return !experts_of(gradient).empty();
}

std::vector<ShardUnit> shard_units(const LayerTrace& trace, const UnitRule& rule) {
  std::vector<ShardUnit> units{{"root", {}, 0}};
  auto blocks = blocks_of(trace, rule, units.front());
  int in_unit = 0;
  for (auto& block : blocks) {
    bool is_full = units.size() == 1 ||
                   (rule.bytes ? bytes_of(units.back(), trace) >= *rule.bytes : in_unit == rule.blocks);
    in_unit = is_full ? 1 : in_unit + 1;
    if (is_full) {
      units.push_back(std::move(block));
      continue;
    }
    auto& unit = units.back();
    unit.gradients.insert(unit.gradients.begin(), block.gradients.begin(), block.gradients.end());
    unit.elements += block.elements;
    unit.trained += block.trained;
  }
  // Nothing outside the blocks: the first unit takes the root's place, but for one that experts follow.
  if (units.front().gradients.empty() && units.size() > 1 && !rule.experts_apart) units.erase(units.begin());
  for (auto& unit : units) std::sort(unit.gradients.begin(), unit.gradients.end());
  return units;
}

std::vector<UnitPass> forward_passes(const LayerTrace& trace, const std::vector<ShardUnit>& units) {
  auto [ends, note] = forward_ends(trace);
  auto length = trace.forward.value_or(Seconds());
  if (units.size() == 1) return {{0, length}};
  // Of the root, what arrives after all blocks is used before them.
  std::size_t last_of_blocks = 0;
  std::vector<std::pair<std::size_t, Seconds>> of_blocks;
  for (std::size_t u = 1; u < units.size(); ++u) {
    if (units[u].of_experts) continue;  // its block has put it in its place
    auto end = last_end(units[u], ends);
    // A block whose experts are apart goes on after them with what follows them.
    if (u + 1 < units.size() && units[u + 1].of_experts) {
      auto of_experts = last_end(units[u + 1], ends);
      of_blocks.emplace_back(u, end_before(units[u], units[u + 1], ends));
      of_blocks.emplace_back(u + 1, of_experts);
      if (end > of_experts) of_blocks.emplace_back(u, end);
    } else {
      of_blocks.emplace_back(u, end);
    }
    last_of_blocks = std::max(last_of_blocks, units[u].gradients.back());
  }
  Seconds start;
  for (auto gradient : units.front().gradients)
    if (gradient > last_of_blocks) start = std::max(start, ends[gradient]);
  return cut(std::min(start, of_blocks.front().second), of_blocks, length);
}

std::vector<UnitPass> backward_passes(const LayerTrace& trace, const std::vector<ShardUnit>& units) {
  if (units.size() == 1) return {{0, trace.backward()}};
  std::vector<std::pair<std::size_t, Seconds>> of_blocks;
  std::size_t first_of_blocks = trace.gradients.size();
  for (std::size_t u = units.size(); u-- > 1;) {
    // Before its experts a block computes back what follows them, even if it is nothing.
    if (units[u].of_experts) of_blocks.emplace_back(u - 1, ready_before(units[u - 1], units[u], trace));
    of_blocks.emplace_back(u, trace.gradients[units[u].gradients.back()].ready);
    first_of_blocks = std::min(first_of_blocks, units[u].gradients.front());
  }
  Seconds start;
  for (auto gradient : units.front().gradients)
    if (gradient < first_of_blocks) start = std::max(start, trace.gradients[gradient].ready);
  return cut(start, of_blocks, trace.backward());
}

}  // namespace ddpsim
