#include "sim/text/nccl_platform_section.hpp"

#include <fmt/format.h>

#include "sim/job/types.hpp"
#include "sim/keys/types.hpp"
#include "sim/text/file_rows.hpp"
#include "sim/text/named_file.hpp"
#include "sim/text/nccl_calibration.hpp"
#include "sim/text/presets.hpp"

namespace ddpsim::platform_keys {
namespace {

using namespace keys;

// Auto: sockets where the fabric is Ethernet.
enum class Transport { automatic, socket, rdma };

// What is not said follows from the cloud.
struct GivenSockets {
  std::optional<int> threads = {}, sockets = {};
  std::optional<BytesPerSecond> flow = {}, thread = {}, channel = {};
  bool pod = false;
};

struct Given : NcclPlatform {
  Transport transport = Transport::automatic;
  std::optional<GivenSockets> given_sockets = {};
  std::optional<nccl::Version> given_version = {};
  std::optional<BytesPerSecond> memory_bandwidth = {};  // of older files: nothing follows from it any more
};

Type<GivenSockets> socket_rows() {
  using S = GivenSockets;
  return nested(Rows<S>("socket")
                    .key<&S::threads>("threads", maybe(whole(0, 16)), "NCCL_SOCKET_NTHREADS")
                    .key<&S::sockets>("sockets", maybe(whole(1, 64)), "NCCL_NSOCKS_PERTHREAD")
                    .key<&S::flow>("flow", maybe(bandwidth()), "The most of one connection")
                    .key<&S::thread>("thread", maybe(bandwidth()), "That a proxy thread copies")
                    .key<&S::channel>("channel", maybe(bandwidth()), "Of a channel with helper threads")
                    .key<&S::pod>("pod", boolean(), "Behind a container's own network"));
}

Section rows() {
  using P = NcclPlatform;
  config::Words<Transport> transports{
      {"auto", Transport::automatic}, {"socket", Transport::socket}, {"rdma", Transport::rdma}};
  return Rows<Given>("nccl")
      .needs<&P::gpu>("gpu", word(nccl::kGpuNames), "Whose constants the tuner uses")
      .needs<&P::cpu>("cpu", word(nccl::kCpuNames), "Whose constants the tuner uses")
      .key<&Given::given_version>("version", maybe(job::nccl_version()), "Whose constants choose")
      .key<&Given::memory_bandwidth>("memory_bandwidth", maybe(bandwidth()), "Of older files")
      .key<&P::tuner_nic_latency>("tuner_nic_latency", time(), "What NCCL's network plugin reports")
      .key<&P::nic_latency>("nic_latency", time(), "What a message between two nodes takes")
      .key<&Given::transport>("transport", word(transports), "Between nodes")
      .key<&Given::given_sockets>("socket", maybe(socket_rows()), "How NCCL uses TCP")
      .key<&P::gpudirect>(
          "gpudirect",
          word(config::Words<std::optional<bool>>{{"auto", {}}, {"true", true}, {"false", false}}),
          "Whether NICs read GPUs' memory")
      .key<&P::network_reduces>("network_reduces", boolean(), "Switches add up and multicast")
      .key<&P::calibration>("calibration", maybe(text()), "A name or a file");
}

template <class T>
void take(const std::optional<T>& given, T& value) {
  if (given) value = *given;
}

nccl::Sockets sockets_of(const Topology& topology, const std::optional<GivenSockets>& given) {
  auto sockets = nccl::sockets_of(topology.cloud, given && given->pod);
  if (!given) return sockets;
  take(given->threads, sockets.threads);
  take(given->sockets, sockets.sockets);
  take(given->flow, sockets.flow);
  take(given->thread, sockets.thread);
  take(given->channel, sockets.channel);
  return sockets;
}

void check_sockets(const Value& section, const nccl::Sockets& sockets) {
  const auto* given = section.find("sockets");
  if (given && sockets.threads == 0 && sockets.sockets > 1)
    throw InputError(given->key_span, "without helper threads a channel has one socket", "add 'threads: 2'");
  constexpr int kMost = 64;  // MAX_SOCKETS of NCCL's net_socket.cc
  if (sockets.threads * sockets.sockets > kMost)
    throw InputError(section.span,
                     fmt::format("{} sockets a channel, and NCCL opens at most {}",
                                 sockets.threads * sockets.sockets, kMost),
                     "threads x sockets is at most 64");
}

void take_sockets(const Topology& topology, const Value& value, Given& platform) {
  const auto& given = platform.given_sockets;
  platform.sockets = sockets_of(topology, given);
  bool says_figure = false;
  if (given) {
    const auto& section = value.find("socket")->value;
    check_sockets(section, *platform.sockets);
    says_figure = !section.entries.empty();
  }
  platform.knows_sockets = topology.cloud != nccl::Cloud::none || says_figure;
}

}  // namespace
}  // namespace ddpsim::platform_keys

namespace ddpsim {

keys::Section file_rows::nccl_platform() {
  return platform_keys::rows();
}

NcclPlatform read_nccl_platform(const config::Value& value, const std::string& file,
                                const Topology& topology) {
  static const auto rows = platform_keys::rows();
  auto platform = keys::read_root<platform_keys::Given>(rows, value);
  auto version = platform.given_version;
  platform.says_version = version.has_value();
  if (platform.calibration) {
    Located named{*platform.calibration, value.find("calibration")->value.span};
    auto preset = preset_file(PresetKind::calibrations, named);
    platform.calibration = preset ? *preset : named_file(named, file);
    if (!version) version = release_of(read_calibration(*platform.calibration));
  }
  platform.version = version.value_or(platform.version);
  using Transport = platform_keys::Transport;
  bool over_sockets =
      platform.transport == Transport::socket ||
      (platform.transport == Transport::automatic && topology.network == NetworkClass::ethernet);
  if (platform.given_sockets && !over_sockets)
    throw InputError(value.find("socket")->value.span, "NCCL uses no sockets here",
                     "remove 'socket', or write 'transport: socket'");
  if (platform.gpudirect && over_sockets)
    throw InputError(value.find("gpudirect")->value.span, "sockets know no GPUDirect",
                     "remove 'gpudirect', or write 'transport: rdma'");
  platform.says_nic_latency = value.find("nic_latency") != nullptr;
  if (over_sockets) platform_keys::take_sockets(topology, value, platform);
  return platform;
}

}  // namespace ddpsim
