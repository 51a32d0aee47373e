#include "validate/testbed/packet.hpp"

#include <cstring>

#include <netinet/in.h>

namespace ddpsim::validate {
namespace {

constexpr std::size_t kEthernetHeader = 14, kSmallestIpHeader = 20, kSmallestTcpHeader = 20;

std::size_t byte_at(std::span<const std::byte> bytes, std::size_t index) {
  return std::to_integer<std::size_t>(bytes[index]);
}

// Header fields that count words of 32 bits.
std::size_t words(std::size_t field) {
  return 4 * (field & 15);
}

// IP's and TCP's headers together; 0 of what is not TCP (RFC 791, RFC 9293).
std::size_t tcp_headers(std::span<const std::byte> ip) {
  auto ip_header = words(byte_at(ip, 0));
  if (byte_at(ip, 9) != IPPROTO_TCP || ip.size() < ip_header + kSmallestTcpHeader) return 0;
  return ip_header + words(byte_at(ip, ip_header + 12) >> 4);
}

std::size_t bytes_on_wire(std::span<const std::byte> ip, std::size_t segment_bytes) {
  auto headers = tcp_headers(ip);
  if (segment_bytes == 0 || headers == 0 || ip.size() <= headers) return ip.size() + kEthernetHeader;
  auto payload = ip.size() - headers;
  auto segments = (payload + segment_bytes - 1) / segment_bytes;
  return payload + segments * (headers + kEthernetHeader);
}

}  // namespace

std::optional<PacketFacts> inspect_packet(std::span<const std::byte> packet) {
  if (packet.size() < sizeof(VirtioHeader) + kSmallestIpHeader) return std::nullopt;
  VirtioHeader header;
  std::memcpy(&header, packet.data(), sizeof header);
  auto ip = packet.subspan(sizeof header);
  bool is_ours =
      byte_at(ip, 0) >> 4 == 4 && byte_at(ip, 16) == 10 && byte_at(ip, 17) == 77 && byte_at(ip, 18) == 0;
  if (!is_ours) return std::nullopt;
  return PacketFacts{static_cast<int>(byte_at(ip, 19)),
                     Bytes(static_cast<double>(bytes_on_wire(ip, header.segment_bytes)))};
}

}  // namespace ddpsim::validate
