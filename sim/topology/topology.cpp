#include "sim/topology/topology.hpp"

#include <fmt/format.h>

#include "sim/base/limits.hpp"
#include "sim/config/reader.hpp"

namespace ddpsim {
namespace {

using config::MapReader;
using config::Value;

enum class Kind { ring };

Link read_link(const Value& value) {
  MapReader reader(value, "link");
  Link link{reader.required("bandwidth", config::as_bandwidth),
            reader.required("latency", config::as_seconds)};
  reader.finish();
  return link;
}

Topology::Override read_override(const Value& value, const Link& link) {
  MapReader reader(value, "overrides");
  auto from = reader.required("from", config::as_integer(0, kLargestWorldSize - 1));
  auto bandwidth = reader.optional("bandwidth", config::as_bandwidth);
  auto latency = reader.optional("latency", config::as_seconds);
  reader.finish();
  if (!bandwidth && !latency)
    throw InputError(value.span, "this override changes nothing", "give it a bandwidth or a latency");
  return {static_cast<int>(from),
          {bandwidth.value_or(link.bandwidth), latency.value_or(link.latency)},
          value.span};
}

}  // namespace

void Topology::check_world_size(int world_size) const {
  for (const auto& override : overrides_)
    if (override.from >= world_size)
      throw InputError(override.span,
                       fmt::format("a ring of {} ranks has no rank {}", world_size, override.from),
                       fmt::format("its last rank is {}", world_size - 1));
}

std::vector<Link> Topology::ring_links(int world_size) const {
  check_world_size(world_size);
  std::vector<Link> links(static_cast<std::size_t>(world_size), link_);
  for (const auto& override : overrides_) links[static_cast<std::size_t>(override.from)] = override.link;
  return links;
}

Topology read_topology(const std::string& path) {
  Value root = config::load_yaml(path, "a topology");
  MapReader reader(root, "topology");
  reader.required("kind", config::as_word(config::Words<Kind>{{"ring", Kind::ring}}));
  Link link = reader.required("link", read_link);
  auto overrides =
      reader.optional("overrides", config::as_list([&](const Value& v) { return read_override(v, link); }));
  reader.finish();
  std::vector<Topology::Override> list = overrides.value_or(std::vector<Topology::Override>{});
  for (std::size_t i = 0; i < list.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (list[i].from == list[j].from)
        throw InputError(list[i].span, fmt::format("the link from rank {} is overridden twice", list[i].from),
                         "merge the two");
  return Topology(link, std::move(list));
}

}  // namespace ddpsim
