// The parts of `cluster` that say who talks: groups, placement, background traffic.
#include <algorithm>
#include <numeric>

#include <fmt/core.h>

#include "sim/base/limits.hpp"
#include "sim/config/reader.hpp"
#include "sim/text/sections.hpp"

namespace ddpsim {
namespace {

using config::as_integer;
using config::as_seconds;
using config::MapReader;
using config::Value;

auto as_seed() {
  return as_integer(0, std::int64_t{1} << 53U);
}

// Megatron-LM's order: the ranks of a tensor-parallel group follow one another, so a data-parallel group is
// every size-th rank.
std::vector<GroupSection> tensor_parallel_groups(const Value& value, int world_size) {
  auto size = static_cast<int>(as_integer(1, kLargestWorldSize)(value));
  if (world_size % size != 0)
    throw InputError(value.span, fmt::format("{} ranks are no multiple of {}", world_size, size),
                     "use a divisor of the world size");
  std::vector<GroupSection> groups(static_cast<std::size_t>(size));
  for (int rank = 0; rank < world_size; ++rank)
    groups[static_cast<std::size_t>(rank % size)].ranks.push_back(rank);
  return groups;
}

// A list of ranks, or {from: 0, to: 14, step: 2} (both ends included).
std::vector<int> read_ranks(const Value& value, int world_size) {
  auto as_rank = as_integer(0, kLargestWorldSize - 1);
  std::vector<int> ranks;
  if (value.kind == Value::Kind::map) {
    MapReader reader(value, "ranks");
    auto from = reader.optional("from", as_rank).value_or(0);
    auto to = reader.required("to", as_rank);
    auto step = reader.optional("step", as_integer(1, kLargestWorldSize)).value_or(1);
    reader.finish();
    if (from > to)
      throw InputError(value.span, fmt::format("from {} to {} there is no rank", from, to), "count upwards");
    for (auto rank = from; rank <= to; rank += step) ranks.push_back(static_cast<int>(rank));
  } else {
    for (const auto& item : config::items_of(value)) ranks.push_back(static_cast<int>(as_rank(item)));
  }
  for (int rank : ranks)
    if (rank >= world_size)
      throw InputError(value.span, fmt::format("there is no rank {} among {}", rank, world_size),
                       fmt::format("the last rank is {}", world_size - 1));
  return ranks;
}

void check_partition(const std::vector<GroupSection>& groups, int world_size, const Value& value) {
  std::vector<std::size_t> group_of(static_cast<std::size_t>(world_size), groups.size());
  for (std::size_t g = 0; g < groups.size(); ++g)
    for (int rank : groups[g].ranks) {
      auto& mine = group_of[static_cast<std::size_t>(rank)];
      if (mine != groups.size())
        throw InputError(value.items[g].span,
                         mine == g ? fmt::format("rank {} is listed twice", rank)
                                   : fmt::format("rank {} is in group {} already", rank, mine),
                         "a rank reduces its gradients in one group");
      mine = g;
    }
  for (std::size_t rank = 0; rank < group_of.size(); ++rank)
    if (group_of[rank] == groups.size())
      throw InputError(value.span, fmt::format("rank {} is in no group", rank),
                       "put every rank of world_size into a group");
}

}  // namespace

std::vector<GroupSection> read_groups(const Value* value, int world_size) {
  std::vector<GroupSection> groups;
  if (!value) {
    groups.resize(1);
    groups[0].ranks.resize(static_cast<std::size_t>(world_size));
    std::iota(groups[0].ranks.begin(), groups[0].ranks.end(), 0);
    return groups;
  }
  if (value->kind == Value::Kind::scalar)
    throw InputError(value->span, "groups are a list of groups, or tensor parallel",
                     "write {tensor_parallel: 8}, or [{ranks: [0, 1]}, {ranks: [2, 3]}]");
  if (value->kind == Value::Kind::map) {
    MapReader reader(*value, "groups");
    const Value& size = reader.require("tensor_parallel");
    reader.finish();
    groups = tensor_parallel_groups(size, world_size);
  } else {
    for (const auto& item : config::items_of(*value)) {
      MapReader reader(item, "groups");
      auto& group = groups.emplace_back();
      group.ranks = read_ranks(reader.require("ranks"), world_size);
      group.offset = reader.optional("offset", as_seconds).value_or(Seconds(0));
      reader.finish();
    }
    check_partition(groups, world_size, *value);
  }
  for (std::size_t g = 0; g < groups.size(); ++g)
    if (groups[g].ranks.size() < 2 && world_size > 1)
      throw InputError(value->kind == Value::Kind::map ? value->span : value->items[g].span,
                       fmt::format("a group of {} rank{} communicates nothing", groups[g].ranks.size(),
                                   groups[g].ranks.empty() ? "s" : ""),
                       "data parallelism needs at least 2 ranks in a group");
  return groups;
}

std::optional<std::uint64_t> read_hashing(const Value* value) {
  if (!value || (value->kind == Value::Kind::scalar && value->scalar == "none")) return std::nullopt;
  config::check_word(*value, {"none"}, "write none, or {seed: SEED}");
  if (value->kind != Value::Kind::map)
    throw InputError(value->span, "this is no hashing", "write none, or {seed: SEED}");
  MapReader reader(*value, "hashing");
  auto seed = reader.required("seed", as_seed());
  reader.finish();
  return static_cast<std::uint64_t>(seed);
}

Placement read_placement(const Value* value) {
  if (!value) return {};
  if (value->kind == Value::Kind::map) {
    MapReader reader(*value, "placement");
    auto nodes_seed = reader.optional("random_nodes", as_seed());
    auto seed = nodes_seed ? *nodes_seed : reader.required("random", as_seed());
    reader.finish();
    return {nodes_seed ? PlacementKind::random_nodes : PlacementKind::random,
            static_cast<std::uint64_t>(seed)};
  }
  if (value->kind == Value::Kind::scalar && value->scalar.starts_with("random"))
    throw InputError(value->span, "a random placement needs a seed",
                     "write placement: {random: 1}, or {random_nodes: 1}");
  if (value->kind == Value::Kind::scalar && value->scalar == "packed") return {PlacementKind::packed, 0};
  if (value->kind == Value::Kind::scalar && value->scalar == "round_robin")
    return {PlacementKind::round_robin, 0};
  constexpr auto kHint = "one of packed, round_robin, {random: SEED}, {random_nodes: SEED}";
  config::check_word(*value, {"packed", "round_robin"}, kHint);
  throw InputError(value->span, "this is no placement", kHint);
}

std::vector<BackgroundFlow> read_background(const Value* value, const Cluster& cluster) {
  std::vector<BackgroundFlow> flows;
  if (!value) return flows;
  for (const auto& item : config::items_of(*value)) {
    MapReader reader(item, "background");
    const Value& links = reader.require("links");
    BackgroundFlow flow;
    for (const auto& name : config::items_of(links)) {
      for (int link : cluster.links_named(config::as_string(name), name.span)) {
        if (cluster.broken(link))
          throw InputError(name.span, fmt::format("link {} is broken", cluster.link_name(link)),
                           "nothing crosses it: name another, or mend it");
        if (std::find(flow.links.begin(), flow.links.end(), link) != flow.links.end())
          throw InputError(name.span, fmt::format("link {} is named twice", cluster.link_name(link)),
                           "a flow crosses a link once; a second flow is another entry");
        flow.links.push_back(link);
      }
    }
    flow.start = reader.optional("start", as_seconds).value_or(Seconds(0));
    const Value* size = reader.find("size");
    if (size) flow.size = config::as_bytes(*size);
    if (flow.size == Bytes(0))
      throw InputError(size->span, "background traffic of no bytes", "give it a size");
    flow.end = reader.optional("end", as_seconds);
    reader.finish();
    if (flow.links.empty()) throw InputError(links.span, "background traffic on no link", "name one");
    if (!flow.size && !flow.end)
      throw InputError(item.span, "background traffic without an end", "give it a size or an end");
    if (flow.end && *flow.end <= flow.start)
      throw InputError(item.span, "background traffic that ends before it starts",
                       "let it end after its start");
    flows.push_back(std::move(flow));
  }
  return flows;
}

}  // namespace ddpsim
