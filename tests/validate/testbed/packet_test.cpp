#include "validate/testbed/packet.hpp"

#include <cstring>
#include <vector>

#include <gtest/gtest.h>

namespace ddpsim::validate {
namespace {

constexpr std::size_t kIp = sizeof(VirtioHeader);

// IPv4 to 10.77.0.3, TCP with 12 bytes of options: 52 bytes of headers before the payload.
std::vector<std::byte> tcp_packet(std::size_t payload, std::uint16_t segment_bytes = 0) {
  VirtioHeader header{};
  header.segment_bytes = segment_bytes;
  header.header_bytes = 99;  // only a hint of the kernel's
  std::vector<std::byte> packet(kIp + 52 + payload);
  std::memcpy(packet.data(), &header, sizeof header);
  packet[kIp] = std::byte{0x45};
  packet[kIp + 9] = std::byte{6};
  packet[kIp + 16] = std::byte{10};
  packet[kIp + 17] = std::byte{77};
  packet[kIp + 19] = std::byte{3};
  packet[kIp + 20 + 12] = std::byte{0x80};
  return packet;
}

double wire_bytes(const std::vector<std::byte>& packet) {
  auto facts = inspect_packet(packet);
  EXPECT_TRUE(facts);
  return facts ? facts->on_wire.value() : 0;
}

TEST(Packet, GoesToTheLastByteOfItsAddress) {
  EXPECT_EQ(inspect_packet(tcp_packet(100))->destination, 3);
}

TEST(Packet, OccupiesTheLinkWithItsEthernetHeader) {
  EXPECT_EQ(wire_bytes(tcp_packet(1448)), 1514);
  EXPECT_EQ(wire_bytes(tcp_packet(0)), 66);
  EXPECT_EQ(wire_bytes(tcp_packet(0, 1448)), 66);
}

TEST(Packet, EverySegmentOfATrainHasHeaders) {
  EXPECT_EQ(wire_bytes(tcp_packet(std::size_t{10} * 1448, 1448)), 10 * 1514);
  EXPECT_EQ(wire_bytes(tcp_packet(std::size_t{10} * 1448 + 1, 1448)), 10 * 1514 + 67);
}

TEST(Packet, OfAnotherProtocolIsOneSegment) {
  auto packet = tcp_packet(1448, 100);
  packet[kIp + 9] = std::byte{17};
  EXPECT_EQ(wire_bytes(packet), 1514);
}

TEST(Packet, ThatIsNoneOfOursHasNoFacts) {
  auto ipv6 = tcp_packet(100);
  ipv6[kIp] = std::byte{0x60};
  EXPECT_FALSE(inspect_packet(ipv6));
  auto elsewhere = tcp_packet(100);
  elsewhere[kIp + 16] = std::byte{11};
  EXPECT_FALSE(inspect_packet(elsewhere));
}

TEST(Packet, ThatIsCutShortIsReadNoFurther) {
  auto whole = tcp_packet(0, 1448);
  for (std::size_t size = 0; size < whole.size(); ++size) {
    // Of exactly this size, so that the sanitizer sees a byte too many.
    std::vector<std::byte> cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
    cut.shrink_to_fit();
    EXPECT_EQ(inspect_packet(cut).has_value(), size >= kIp + 20) << size;
  }
}

}  // namespace
}  // namespace ddpsim::validate
