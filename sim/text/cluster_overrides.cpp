#include "sim/text/cluster_overrides.hpp"

#include <fmt/core.h>

#include "sim/base/limits.hpp"
#include "sim/config/reader.hpp"
#include "sim/text/topology_file.hpp"

namespace ddpsim {
namespace {

using config::Value;

struct Change {
  std::optional<int> node;  // all NICs of which are meant
  LinkOverride link;
};

// Links are named by node ("node3.nic0"), so that some write a node like that.
int read_node_number(const Value& value) {
  constexpr std::string_view kPrefix = "node";
  const auto& text = value.scalar;
  bool is_name = value.kind == Value::Kind::scalar && text.size() > kPrefix.size() &&
                 text.starts_with(kPrefix) &&
                 text.find_first_not_of("0123456789", kPrefix.size()) == std::string::npos;
  if (is_name)
    throw InputError(value.span, fmt::format("a node is written as its number, not as '{}'", text),
                     fmt::format("write 'node: {}'", text.substr(kPrefix.size())));
  return static_cast<int>(config::as_integer(0, std::int64_t{kLargestWorldSize} - 1)(value));
}

Change read_change(const Value& value) {
  config::MapReader reader(value, "overrides");
  const Value* node = reader.find("node");
  Change change;
  if (node) {
    if (reader.find("link"))
      throw InputError(node->span, "a link or a node, not both", "make it two entries");
    change.node = read_node_number(*node);
    change.link.link = fmt::format("node{}", *change.node);
    change.link.span = node->span;
  } else {
    change.link.span = reader.require("link").span;
    change.link.link = reader.required("link", config::as_string);
  }
  read_override_figures(value, reader, change.link);
  if (node && change.link.broken && (change.link.bandwidth || change.link.latency))
    throw InputError(node->span, "no job runs on a broken node, however fast its NICs are",
                     "write 'broken: true' alone, or the figures alone");
  return change;
}

}  // namespace

std::optional<LinkOverride> read_override(const Value& value) {
  auto change = read_change(value);
  return change.node && change.link.broken ? std::nullopt : std::optional(std::move(change.link));
}

ClusterOverrides read_cluster_overrides(const Value* overrides) {
  ClusterOverrides all;
  if (!overrides) return all;
  for (const auto& item : config::items_of(*overrides)) {
    auto [node, link] = read_change(item);
    if (!node || !link.broken) {
      all.links.push_back(std::move(link));
      continue;
    }
    if (all.broken_nodes.empty()) all.broken_place = link.span;
    if (!all.broken_nodes.insert(*node).second)
      throw InputError(link.span, fmt::format("node {} is broken twice", *node), "remove one of the two");
  }
  return all;
}

}  // namespace ddpsim
