#include "sim/cli/scenario_text.hpp"

#include <algorithm>

namespace ddpsim::cli {
namespace {

// A key with a value, or with keys below it.
struct Node {
  std::string key, value;
  std::vector<Node> below = {};

  Node& child(const std::string& name) {
    auto known = std::find_if(below.begin(), below.end(), [&](const Node& node) { return node.key == name; });
    if (known != below.end()) return *known;
    return below.emplace_back(Node{name, {}});
  }
};

void write(const Node& node, const std::string& indent, std::string& text) {
  for (const auto& one : node.below) {
    text += indent + one.key + ":" + (one.value.empty() ? "" : " " + one.value) + "\n";
    write(one, indent + "  ", text);
  }
}

}  // namespace

std::string scenario_text(const std::vector<std::string>& assignments) {
  Node top;
  for (const auto& assignment : assignments) {
    auto equals = assignment.find('=');
    auto* node = &top;
    for (std::size_t from = 0; from <= equals;) {
      auto dot = std::min(assignment.find('.', from), equals);
      node = &node->child(assignment.substr(from, dot - from));
      from = dot + 1;
    }
    node->value = assignment.substr(equals + 1);
    node->below.clear();
  }
  std::string text;
  write(top, "", text);
  return text;
}

}  // namespace ddpsim::cli
