#include <fmt/core.h>

#include "sim/base/limits.hpp"
#include "sim/text/topology_readers.hpp"
#include "sim/topology/topology_kinds.hpp"

namespace ddpsim {
namespace {

using config::MapReader;
using config::Value;

RingOverride read_ring_override(const Value& value) {
  MapReader reader(value, "overrides");
  RingOverride override;
  override.from = static_cast<int>(reader.required("from", config::as_integer(0, kLargestWorldSize - 1)));
  override.change.span = value.span;
  override.change.bandwidth = reader.optional("bandwidth", config::as_bandwidth);
  override.change.latency = reader.optional("latency", config::as_seconds);
  override.change.broken = reader.optional("broken", config::as_bool).value_or(false);
  reader.finish();
  if (!override.change.bandwidth && !override.change.latency && !override.change.broken)
    throw InputError(value.span, "this override changes nothing", "give it a bandwidth or a latency");
  return override;
}

}  // namespace

std::shared_ptr<Topology> read_ring(MapReader& file) {
  Link link = file.required("link", [](const Value& value) { return read_link(value, "link"); });
  auto list =
      file.optional("overrides", config::as_list(read_ring_override)).value_or(std::vector<RingOverride>{});
  file.finish();
  for (std::size_t i = 0; i < list.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (list[i].from == list[j].from)
        throw InputError(list[i].change.span,
                         fmt::format("the link from rank {} is overridden twice", list[i].from),
                         "merge the two");
  return make_ring_topology(link, std::move(list));
}

}  // namespace ddpsim
