#pragma once
// What a TUN device hands over: a VirtioHeader and an IPv4 packet, which may be a train of TCP segments still
// to be cut.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "sim/base/units.hpp"

namespace ddpsim::validate {

// struct virtio_net_hdr of <linux/virtio_net.h>, which is no valid C++ (it names a field `class`). In the
// machine's byte order.
struct VirtioHeader {
  std::uint8_t flags, segmentation;
  std::uint16_t header_bytes, segment_bytes, checksum_start, checksum_offset;
};
static_assert(sizeof(VirtioHeader) == 10);

struct PacketFacts {
  int destination = 0;  // the last byte of its address, 10.77.0.x
  Bytes on_wire;        // with the headers of each of its segments, Ethernet's included
};

// None of what is not IPv4, not whole, or goes elsewhere.
std::optional<PacketFacts> inspect_packet(std::span<const std::byte> packet);

}  // namespace ddpsim::validate
