#pragma once
// The modelled cluster: links and which of them carries what between two ranks.
#include <string>
#include <vector>

#include "sim/base/source.hpp"
#include "sim/base/units.hpp"

namespace ddpsim {

// One direction of a cable. `latency` is paid once by every message, `bandwidth` shared by all messages in
// flight.
struct Link {
  BytesPerSecond bandwidth;
  Seconds latency;
};

// kind: ring. One directed link from each rank to the next; fits any world size.
class Topology {
 public:
  struct Override {
    int from = 0;  // the rank whose outgoing link differs
    Link link;
    SourceSpan span;
  };

  Topology(Link link, std::vector<Override> overrides) : link_(link), overrides_(std::move(overrides)) {}

  // The links of a ring of `world_size` ranks: entry r leads from rank r to rank (r + 1) % world_size. Throws
  // InputError when an override names a rank the ring does not have.
  [[nodiscard]] std::vector<Link> ring_links(int world_size) const;
  // Throws the same InputError without building anything.
  void check_world_size(int world_size) const;

 private:
  Link link_;
  std::vector<Override> overrides_;
};

// Reads a topology file (docs/formats.md). Throws InputError with the place and a hint.
Topology read_topology(const std::string& path);

}  // namespace ddpsim
