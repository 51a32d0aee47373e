#include "sim/ddp/compiled_graph.hpp"

#include <algorithm>
#include <cctype>
#include <string_view>

#include "sim/ddp/ddp_rules.hpp"

namespace ddpsim {
namespace {

// "transformer.h.0.ln_1" of "transformer.h.0.ln_1.weight"; empty where nothing names the module.
std::string_view module_of(std::string_view name) {
  auto dot = name.rfind('.');
  if (dot == std::string_view::npos) return {};
  auto leaf = name.substr(dot + 1);
  bool is_number = std::all_of(leaf.begin(), leaf.end(), [](unsigned char c) { return std::isdigit(c); });
  return is_number ? std::string_view() : name.substr(0, dot);
}

}  // namespace

CompiledGraph compiled_graph(const LayerTrace& trace, std::span<const std::size_t> unused, Bytes tied_head) {
  CompiledGraph graph{{}, tied_head};
  std::string_view before;
  for (std::size_t g = 0; g < trace.gradients.size(); ++g) {
    const auto& gradient = trace.gradients[g];
    auto module = module_of(gradient.name);
    bool is_new = graph.modules.empty() || module.empty() || module != before;
    if (is_new) graph.modules.emplace_back();
    before = module;
    auto& one = graph.modules.back();
    one.last = g;
    if (!std::binary_search(unused.begin(), unused.end(), g)) one.bytes += gradient.bytes();
  }
  return graph;
}

Subgraphs subgraphs(const CompiledGraph& graph, Bytes cap) {
  Subgraphs result;
  auto& smallest = result.smallest_closed;
  Bytes size = graph.tied_head;
  std::size_t last = 0;
  bool is_first = true, is_open = false;
  auto close = [&] {
    if (is_open) result.ends.resize(last + 1, last);
    size = {};
    is_first = is_open = false;
  };
  for (const auto& module : graph.modules) {
    if (size >= (is_first ? kDefaultFirstBucket : cap)) {
      if (!is_first && (!smallest || size < *smallest)) smallest = size;
      close();
    }
    size += module.bytes;
    last = module.last;
    is_open = true;
  }
  close();
  return result;
}

}  // namespace ddpsim
