// Reads `fabric`.
#include <fmt/core.h>

#include "sim/base/counted.hpp"
#include "sim/base/limits.hpp"
#include "sim/text/topology_readers.hpp"

namespace ddpsim {
namespace {

using config::MapReader;
using config::Value;

enum class FabricKind { rail_optimized, fat_tree, ring };

double as_oversubscription(const Value& value) {
  return config::as_number(1, 1000)(value);
}

auto as_count() {
  return config::as_integer(1, kLargestWorldSize);
}

auto as_uplinks() {
  return config::as_integer(1, 1024);
}

void read_rails(MapReader& reader, Fabric& fabric) {
  fabric.rails = true;
  fabric.nodes_per_leaf = static_cast<int>(reader.optional("nodes_per_leaf", as_count()).value_or(0));
  const Value* oversubscription = reader.find("oversubscription");
  if (oversubscription) fabric.leaf_oversubscription = as_oversubscription(*oversubscription);
  if (!reader.optional("spine", config::as_bool).value_or(true)) fabric.levels = 1;
  if (fabric.levels == 1 && oversubscription)
    throw InputError(oversubscription->span, "without a spine no leaf has uplinks to oversubscribe",
                     "remove 'oversubscription', or 'spine: false'");
  const Value* uplinks = reader.find("uplinks");
  if (uplinks) fabric.leaf_uplinks = static_cast<int>(as_uplinks()(*uplinks));
  if (fabric.levels == 1 && uplinks)
    throw InputError(uplinks->span, "without a spine no leaf has uplinks",
                     "remove 'uplinks', or 'spine: false'");
}

// One number for all levels, or one for each level of uplinks.
void read_oversubscription(const Value& value, Fabric& fabric) {
  if (value.kind != Value::Kind::sequence) {
    fabric.leaf_oversubscription = fabric.pod_oversubscription = as_oversubscription(value);
    return;
  }
  auto numbers = config::as_list(as_oversubscription)(value);
  if (static_cast<int>(numbers.size()) != fabric.levels - 1)
    throw InputError(
        value.span,
        fmt::format("{} for {} of uplinks", counted(static_cast<int>(numbers.size()), "oversubscription"),
                    counted(fabric.levels - 1, "level")),
        "give one number, or one for each level from the leaves up");
  fabric.leaf_oversubscription = numbers.front();
  fabric.pod_oversubscription = numbers.back();
}

// One number for leaves, or with 3 levels one for leaves and one for pods.
void read_uplinks(const Value& value, Fabric& fabric) {
  if (fabric.levels == 2) {
    fabric.leaf_uplinks = static_cast<int>(as_uplinks()(value));
    return;
  }
  auto numbers = config::as_list(as_uplinks())(value);
  if (numbers.size() != 2)
    throw InputError(
        value.span,
        fmt::format("{} of uplinks for 2 levels", counted(static_cast<int>(numbers.size()), "number")),
        "give those of a leaf and those of a pod: [8, 16]");
  fabric.leaf_uplinks = static_cast<int>(numbers.front());
  fabric.pod_uplinks = static_cast<int>(numbers.back());
}

void read_fat_tree(MapReader& reader, Fabric& fabric) {
  fabric.levels = static_cast<int>(reader.optional("levels", config::as_integer(2, 3)).value_or(2));
  fabric.nodes_per_leaf = static_cast<int>(reader.required("nodes_per_leaf", as_count()));
  if (fabric.levels == 3)
    fabric.leaves_per_pod = static_cast<int>(reader.required("leaves_per_pod", as_count()));
  if (const Value* value = reader.find("oversubscription")) read_oversubscription(*value, fabric);
  if (const Value* value = reader.find("uplinks")) read_uplinks(*value, fabric);
}

}  // namespace

Fabric read_fabric(const Value& value) {
  MapReader reader(value, "fabric");
  auto kind = reader.required(
      "kind", config::as_word(config::Words<FabricKind>{{"rail_optimized", FabricKind::rail_optimized},
                                                        {"fat_tree", FabricKind::fat_tree},
                                                        {"ring", FabricKind::ring}}));
  Fabric fabric;
  fabric.network = reader.optional("network", config::as_word(config::words_of(kNetworkClassNames)));
  fabric.kind = kind == FabricKind::ring ? Fabric::Kind::ring : Fabric::Kind::tree;
  if (kind == FabricKind::rail_optimized) read_rails(reader, fabric);
  if (kind == FabricKind::fat_tree) read_fat_tree(reader, fabric);
  if (kind != FabricKind::ring)
    fabric.hop_latency = reader.optional("latency", config::as_seconds).value_or(Seconds(0));
  reader.finish();
  return fabric;
}

}  // namespace ddpsim
