#pragma once
// Real network links of a known rate on one machine: each rank in a network namespace of its own, joined by a
// bridge, its outgoing traffic shaped by a token bucket (tc-tbf); with a delay, joined by a forwarder in user
// space instead, because not every kernel has netem. The namespaces have no names: nothing but this process
// holds them, and they vanish with it, however it ends. Traffic stays inside.
#include <memory>
#include <optional>
#include <string>

#include "validate/launch/launcher.hpp"

#include "sim/base/source.hpp"
#include "sim/base/units.hpp"

namespace ddpsim::validate {

struct TestbedOptions {
  // Of what each rank sends; Ethernet frames count whole. What it receives is not limited: several ranks that
  // send to one at once are faster than a link.
  BytesPerSecond rate;
  std::optional<Seconds> delay;  // one way
};

constexpr int kMostTestbedRanks = 250;

// "rate=1Gbps,delay=1ms", in any order. The rate is from 1 Mbps to 100 Gbps, the delay, if any, at most 1 s.
// Throws InputError at the part that is wrong.
TestbedOptions parse_testbed(const Located& text);

// What of a link's rate TCP's payload gets: 1448 bytes of a frame of 1514 (an MTU of 1500 less 20 bytes of
// IP, 20 of TCP and 12 of its timestamps; 14 more of Ethernet).
BytesPerSecond payload_rate(BytesPerSecond rate);

// Throws BackendMissing, saying what is missing, without root, ip, tc or (with a delay) /dev/net/tun.
void require_testbed(const TestbedOptions& options);

// Builds it; throws as above, InputError for more than kMostTestbedRanks, and RunFailed where the kernel
// refuses a setting that matters; describe() names the others that it refused. With a delay it has a child
// process as long as it lives.
std::unique_ptr<RankNetwork> make_testbed(int ranks, const TestbedOptions& options);

}  // namespace ddpsim::validate
