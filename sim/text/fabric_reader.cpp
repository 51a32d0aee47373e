// Reads `fabric`.
#include <fmt/core.h>

#include "sim/base/counted.hpp"
#include "sim/base/limits.hpp"
#include "sim/keys/types.hpp"
#include "sim/text/file_rows.hpp"
#include "sim/text/topology_readers.hpp"

namespace ddpsim::fabric_keys {
namespace {

using namespace keys;

enum class FabricKind { rail_optimized, fat_tree, ring };

struct FabricFile : Fabric {
  FabricKind built = FabricKind::ring;
  bool spine = true;
  std::vector<double> oversubscription = {1};
  std::vector<int> uplinks = {};
};

void check_rails(const FabricFile& fabric, const Cursor& at) {
  if (fabric.spine) return;
  if (at.has("oversubscription"))
    throw InputError(at.place("oversubscription"), "without a spine no leaf has uplinks to oversubscribe",
                     "remove 'oversubscription', or 'spine: false'");
  if (at.has("uplinks"))
    throw InputError(at.place("uplinks"), "without a spine no leaf has uplinks",
                     "remove 'uplinks', or 'spine: false'");
}

void check_pods(const FabricFile& fabric, const Cursor& at) {
  bool has_pods = at.has("leaves_per_pod");
  if (fabric.levels == 3 && !has_pods) throw config::lacks_key(at.place(), "fabric", "leaves_per_pod");
  if (fabric.levels == 2 && has_pods)
    throw InputError(at.places.key_at("leaves_per_pod"), "a fat tree of 2 levels has no pods",
                     "write 'levels: 3', or remove 'leaves_per_pod'");
}

Type<FabricFile> fabric_rows() {
  using F = FabricFile;
  auto of_kind = [](const char* kind) {
    Rows<F> rows("fabric");
    rows.kind(kind)
        .key<&Fabric::network>("network", maybe(word(kNetworkClassNames)), "What it is built of")
        .key<&Fabric::cloud>("cloud", word(nccl::kCloudNames), "Whose NICs, where NCCL uses sockets");
    return rows;
  };
  auto count = whole(1, kLargestWorldSize), cables = whole(1, 1024);
  auto ratio = number(1, 1000);
  auto rails = of_kind("rail_optimized");
  rails.key<&Fabric::nodes_per_leaf>("nodes_per_leaf", count, "Under a group of leaves, one a rail")
      .key<&Fabric::leaf_oversubscription>("oversubscription", ratio, "Of a leaf's uplinks")
      .key<&F::spine>("spine", boolean(), "Whether one joins the leaves")
      .key<&Fabric::leaf_uplinks>("uplinks", cables, "Cables of a leaf")
      .key<&Fabric::hop_latency>("latency", time(), "Of each switch after the first")
      .check(check_rails);
  auto tree = of_kind("fat_tree");
  tree.key<&Fabric::levels>("levels", whole(2, 3), "Of switches")
      .needs<&Fabric::nodes_per_leaf>("nodes_per_leaf", count, "Under one leaf")
      .key<&Fabric::leaves_per_pod>("leaves_per_pod", count, "Of 3 levels")
      .key<&F::oversubscription>("oversubscription", one_or_list(ratio), "Of all uplinks, or level by level")
      .key<&F::uplinks>("uplinks", one_or_list(cables), "Cables of a leaf, or of leaf and pod")
      .key<&Fabric::hop_latency>("latency", time(), "Of each switch after the first")
      .check(check_pods);
  return by_kind<F, FabricKind>(&F::built, {{FabricKind::rail_optimized, rails},
                                            {FabricKind::fat_tree, tree},
                                            {FabricKind::ring, of_kind("ring")}});
}

// One number for all levels, or one for each level of uplinks.
void set_oversubscription(const Value& value, FabricFile& fabric) {
  const auto& numbers = fabric.oversubscription;
  auto given = static_cast<int>(numbers.size());
  if (value.kind == Value::Kind::sequence && given != fabric.levels - 1)
    throw InputError(value.span,
                     fmt::format("{} for {} of uplinks", counted(given, "oversubscription"),
                                 counted(fabric.levels - 1, "level")),
                     "give one number, or one for each level from the leaves up");
  fabric.leaf_oversubscription = numbers.front();
  fabric.pod_oversubscription = numbers.back();
}

// One number for leaves, or with 3 levels one for leaves and one for pods.
void set_uplinks(const Value& value, FabricFile& fabric) {
  const auto& numbers = fabric.uplinks;
  if (fabric.levels == 2 && value.kind == Value::Kind::sequence)
    throw config::wrong_kind(value, "a whole number");
  if (fabric.levels == 3 && config::items_of(value).size() != 2)
    throw InputError(
        value.span,
        fmt::format("{} of uplinks for 2 levels", counted(static_cast<int>(numbers.size()), "number")),
        "give those of a leaf and those of a pod: [8, 16]");
  fabric.leaf_uplinks = numbers.front();
  if (fabric.levels == 3) fabric.pod_uplinks = numbers.back();
}

}  // namespace
}  // namespace ddpsim::fabric_keys

namespace ddpsim {

file_rows::Codec file_rows::fabric() {
  return fabric_keys::fabric_rows().codec;
}

Fabric read_fabric(const config::Value& value) {
  using namespace fabric_keys;
  static const auto rows = fabric_rows();
  auto fabric = read_alone(rows, value);
  fabric.kind = fabric.built == FabricKind::ring ? Fabric::Kind::ring : Fabric::Kind::tree;
  fabric.rails = fabric.built == FabricKind::rail_optimized;
  if (!fabric.spine) fabric.levels = 1;
  if (fabric.built == FabricKind::fat_tree) {
    if (const auto* given = value.find("oversubscription")) set_oversubscription(given->value, fabric);
    if (const auto* given = value.find("uplinks")) set_uplinks(given->value, fabric);
  }
  return fabric;
}

}  // namespace ddpsim
