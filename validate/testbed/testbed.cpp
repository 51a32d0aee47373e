#include "validate/testbed/testbed.hpp"

#include <array>

#include "validate/testbed/delayed_links.hpp"
#include "validate/testbed/network_tools.hpp"
#include "validate/testbed/shaped_links.hpp"
#include "validate/testbed/tun_device.hpp"
#include <fmt/core.h>
#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sim/base/backend_missing.hpp"
#include "sim/base/check.hpp"
#include "sim/base/quantity.hpp"
#include "sim/base/suggest.hpp"

namespace ddpsim::validate {
namespace {

constexpr std::string_view kExample = "write it like rate=1Gbps or rate=1Gbps,delay=1ms";
constexpr BytesPerSecond kSlowest(1e6 / 8), kFastest(100e9 / 8);
constexpr Seconds kLongestDelay(1);

Located part(const Located& text, std::size_t begin, std::size_t length) {
  return {text.text.substr(begin, length),
          text.span.part(static_cast<int>(begin), static_cast<int>(std::max<std::size_t>(length, 1)))};
}

struct Setting {
  Located key, value;
};

Setting split(const Located& item) {
  auto equals = item.text.find('=');
  if (equals == std::string::npos)
    throw InputError(
        item.span,
        item.text.empty() ? "a setting is missing here" : fmt::format("'{}' has no '='", item.text),
        kExample);
  return {part(item, 0, equals), part(item, equals + 1, std::string::npos)};
}

BytesPerSecond parse_rate(const Located& text) {
  auto rate = parse_bandwidth(text);
  if (rate < kSlowest || rate > kFastest)
    throw InputError(text.span, fmt::format("'{}' is out of range", text.text),
                     "a testbed's links carry from 1 Mbps to 100 Gbps");
  return rate;
}

Seconds parse_delay(const Located& text) {
  auto delay = parse_seconds(text);
  if (delay > kLongestDelay)
    throw InputError(text.span, fmt::format("'{}' is out of range", text.text),
                     "a testbed's links delay by 1 s at most");
  return delay;
}

template <class Value>
void set_once(std::optional<Value>& target, const Located& key, Value value) {
  if (target)
    throw InputError(key.span, fmt::format("'{}' is given twice", key.text), "leave one of them out");
  target = value;
}

// Of this thread; those that making namespaces and their devices takes.
bool may_make_networks() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> held{};
  if (syscall(SYS_capget, &header, held.data()) != 0) return false;
  constexpr auto needed = (1U << CAP_NET_ADMIN) | (1U << CAP_SYS_ADMIN);
  return (held[0].effective & needed) == needed;
}

}  // namespace

TestbedOptions parse_testbed(const Located& text) {
  std::optional<BytesPerSecond> rate;
  std::optional<Seconds> delay;
  for (std::size_t begin = 0; begin <= text.text.size();) {
    auto end = std::min(text.text.find(',', begin), text.text.size());
    auto item = part(text, begin, end - begin);
    auto [key, value] = split(item);
    if (key.text == "rate") {
      set_once(rate, key, parse_rate(value));
    } else if (key.text == "delay") {
      set_once(delay, key, parse_delay(value));
    } else {
      throw InputError(key.span,
                       fmt::format("a testbed has no '{}'{}", key.text,
                                   did_you_mean(key.text, std::array<std::string, 2>{"rate", "delay"})),
                       kExample);
    }
    begin = end + 1;
  }
  if (!rate) throw InputError(text.span, "the testbed's rate is missing", kExample);
  return {*rate, delay};
}

BytesPerSecond payload_rate(BytesPerSecond rate) {
  return rate * (1448.0 / 1514.0);
}

void require_testbed(const TestbedOptions& options) {
  if (!may_make_networks())
    throw BackendMissing(
        "a testbed makes network namespaces, which takes root (CAP_SYS_ADMIN and CAP_NET_ADMIN)\n"
        "hint: run as root, or leave the testbed out and measure on loopback");
  require_network_tools();
  if (options.delay) require_tun();
}

std::unique_ptr<RankNetwork> make_testbed(int ranks, const TestbedOptions& options) {
  DDPSIM_CHECK(ranks > 0, "a run has ranks");
  if (ranks > kMostTestbedRanks)
    throw InputError(fmt::format("a testbed of {} ranks is too large", ranks),
                     fmt::format("take at most {}", kMostTestbedRanks));
  if (options.rate < kSlowest || options.rate > kFastest || options.delay > kLongestDelay)
    throw InputError("the testbed's rate or delay is out of range",
                     "1 Mbps to 100 Gbps, and a delay of at most 1 s");
  require_testbed(options);
  if (options.delay) return std::make_unique<DelayedLinks>(ranks, options.rate, *options.delay);
  return std::make_unique<ShapedLinks>(ranks, options.rate);
}

}  // namespace ddpsim::validate
