#include <fmt/core.h>

#include "sim/text/file_rows.hpp"
#include "sim/text/topology_readers.hpp"
#include "sim/topology/topology_kinds.hpp"

namespace ddpsim::ring_keys {
namespace {

using namespace keys;

Type<RingOverride> override_rows() {
  using O = RingOverride;
  constexpr auto change = &O::change;
  auto rows =
      nested(Rows<O>("overrides")
                 .needs<&O::from>("from", whole(0, kLargestWorldSize - 1), "Rank whose link it is")
                 .key<change, &LinkOverride::bandwidth>("bandwidth", maybe(bandwidth()), "In its place")
                 .key<change, &LinkOverride::latency>("latency", maybe(time()), "In its place")
                 .key<change, &LinkOverride::broken>("broken", boolean(), "It carries nothing"));
  return made_of<O, O>(rows, [](O override, const Value& from) {
    if (!override.change.bandwidth && !override.change.latency && !override.change.broken)
      throw InputError(from.span, "this override changes nothing", "give it a bandwidth or a latency");
    override.change.span = from.span;
    return override;
  });
}

void check_once(const std::vector<RingOverride>& list, const Value&) {
  for (std::size_t i = 0; i < list.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (list[i].from == list[j].from)
        throw InputError(list[i].change.span,
                         fmt::format("the link from rank {} is overridden twice", list[i].from),
                         "merge the two");
}

struct RingFile : TopologyFile {
  Link link = {};
  std::vector<RingOverride> changed = {};
};

Type<RingFile> rows() {
  auto changed = checked<std::vector<RingOverride>>(list(override_rows()), check_once);
  return nested(topology_rows<RingFile>("ring")
                    .needs<&RingFile::link>("link", link_rows("link"), "From each rank to the next")
                    .key<&RingFile::changed>("overrides", changed, "Links that differ"));
}

}  // namespace
}  // namespace ddpsim::ring_keys

namespace ddpsim {

file_rows::Codec file_rows::ring() {
  return ring_keys::rows().codec;
}

std::shared_ptr<Topology> read_ring(const config::Value& root, TopologyFile& common) {
  static const auto rows = ring_keys::rows();
  auto file = keys::read_alone(rows, root);
  common = file;
  return make_ring_topology(file.link, std::move(file.changed));
}

}  // namespace ddpsim
