#include "sim/cost/nccl_notes.hpp"

#include <algorithm>
#include <cctype>
#include <optional>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/quantity.hpp"
#include "sim/nccl/constants.hpp"
#include "sim/nccl/cost_model.hpp"

namespace ddpsim {
namespace {

std::optional<Note> simple_order_note(const nccl::Communicator& communicator) {
  const auto& ring = communicator.ring;
  if (ring.found) return std::nullopt;
  auto speeds = nccl::channel_speeds(communicator.version, communicator.gpu, communicator.nodes > 1);
  auto text = [](double speed) { return format_bandwidth(BytesPerSecond(speed * 1e9)); };
  return Note{
      "nccl-simple-order",
      fmt::format("NCCL's search finds no ring here: the slowest channel that it tries with {} GPUs {} takes "
                  "{}. It falls back to one ring in the GPUs' order ('Could not find a path for pattern ..., "
                  "falling back to simple order'), timed here at {}; no calibration covers such a "
                  "ring",
                  nccl::name(communicator.gpu), communicator.nodes > 1 ? "across nodes" : "in one node",
                  text(speeds.back()), format_bandwidth(nccl::ring_busbw(communicator)))};
}

// "Blackwell"
std::string title(std::string_view name) {
  std::string text(name);
  text.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(text.front())));
  return text;
}

std::optional<Note> unknown_gpu_note(const nccl::Communicator& communicator) {
  auto generation = nccl::generation_of(communicator.gpu),
       known = nccl::constants(communicator.version).newest;
  if (generation <= known) return std::nullopt;
  const auto* counted = std::ranges::find(nccl::kGpus, known, &nccl::GpuTraits::generation);
  return Note{
      "nccl-unknown-gpu",
      fmt::format("NCCL {} does not know {} ({} does): it counts these GPUs as {} and leaves out LL128, "
                  "and that is what is simulated",
                  nccl::name(communicator.version), title(nccl::name(communicator.gpu)),
                  nccl::name(nccl::first_with(generation)), title(counted->name))};
}

std::string why_no_peers(const nccl::Communicator& c) {
  const auto& pcie = *c.pcie;
  if (pcie.why == nccl::Pcie::Why::driver) return "their driver has no peer-to-peer";
  if (pcie.why == nccl::Pcie::Why::asked) return "the topology says so";
  return fmt::format(
      "NCCL {} uses peer-to-peer below PCIe switches only, and not over a host bridge "
      "(NCCL_P2P_LEVEL={})",
      nccl::name(c.version), name_in(nccl::kPathLevelNames, pcie.limit));
}

// Of the largest number of GPUs that were measured, where these are more.
std::string beyond_measured(const nccl::Communicator& c, const nccl::Calibration& calibration) {
  const auto* known = calibration.best_for(nccl::Algorithm::ring, false);
  int measured = known ? nccl::largest_ranks(known->fitted_to) : 0;
  if (measured == 0) return "nobody measured NCCL on this PCIe";
  return fmt::format("this PCIe was measured with {} GPUs and not with {}", measured, c.pcie->gpus);
}

// measurements/transports/pcie.csv has the servers behind each figure.
std::optional<Note> pcie_note(const nccl::Communicator& given, const nccl::Calibration& calibration) {
  auto communicator = nccl::with_measured_pcie(given, calibration);
  const auto& pcie = communicator.pcie;
  auto busbw = nccl::pcie_busbw(communicator);
  if (!pcie || pcie->is_measured || !busbw || *busbw > nccl::ring_busbw(communicator)) return std::nullopt;
  constexpr std::string_view kCalibrate = "calibrate with nccl-tests' tables ('ddpsim calibrate')";
  if (!pcie->through_host())
    return Note{
        "nccl-pcie-unmeasured",
        fmt::format("{}: rings with peer-to-peer are timed at 0.78 of a slot's payload, {}; six "
                    "servers reached 0.70 to 0.86. {}",
                    beyond_measured(communicator, calibration), format_bandwidth(*busbw), kCalibrate)};
  auto through =
      fmt::format("messages between these GPUs go through host memory: {}", why_no_peers(communicator));
  if (!pcie->is_interleaved())
    return Note{"pcie-through-host", fmt::format("{}. {}: rings are timed at 0.47 of the payload of the most "
                                                 "loaded slot or uplink, {}; six servers reached "
                                                 "0.32 to 0.60. {}",
                                                 through, beyond_measured(communicator, calibration),
                                                 format_bandwidth(*busbw), kCalibrate)};
  return Note{
      "pcie-interleaved",
      fmt::format("{}; and this host's memory is {}one NUMA domain a socket, interleaved over its dies "
                  "(NPS1 of EPYCs before 9004): at most {} from GPU to GPU. With several domains (NPS4, "
                  "'numactl -H' shows them, host: {{numa: 4}}) such rings get 0.47 of a slot. {}",
                  through, pcie->is_assumed ? "assumed to be " : "", format_bandwidth(pcie->flow),
                  kCalibrate)};
}

std::optional<Note> socket_note(const nccl::Communicator& communicator,
                                const nccl::Calibration& calibration) {
  bool is_measured =
      nccl::is_of_network(calibration, communicator) && calibration.best_for(nccl::Algorithm::ring, true);
  auto busbw = nccl::ring_busbw(communicator);
  if (!communicator.sockets || is_measured || busbw < communicator.network_limit) return std::nullopt;
  using Bound = nccl::SocketRate::Bound;
  auto bound = communicator.socket_bound;
  std::string_view what = bound == Bound::wire                ? "0.93 of the NICs"
                          : bound == Bound::flows             ? "what the cloud gives its connections"
                          : communicator.sockets->threads > 0 ? "what the helper threads of two channels copy"
                                                              : "what one proxy thread copies";
  return Note{
      "socket-unmeasured",
      fmt::format("NCCL goes over TCP sockets here, without GPUDirect: rings are timed at {}, {}. Two "
                  "published pairs fix these figures, three others are 1.5 to 4 times slower; 'NCCL "
                  "INFO' names threads and sockets, nccl: {{socket: {{...}}}} sets them",
                  format_bandwidth(busbw), what)};
}

std::optional<Note> class_note(const nccl::Communicator& communicator) {
  if (!is_nvlink_node(communicator) || class_of(communicator) != nccl::NodeClass::unknown)
    return std::nullopt;
  return Note{
      "nccl-class-unknown",
      fmt::format("nobody measured NCCL on {} GPUs in an NVLink node: times are the mean of A100s, H100s "
                  "and B300s, good to some 20 % from 4 MiB up and 50 % below",
                  nccl::name(communicator.gpu))};
}

// "all_reduce (512 MiB to 8 GiB)": what was measured of more GPUs than the class has.
std::vector<std::string> measured_of_racks(const nccl::Calibration& calibration, int most_of_class) {
  std::vector<std::string> all;
  for (const auto& entry : calibration.node) {
    std::optional<Bytes> smallest;
    Bytes largest;
    for (const auto& table : entry.fitted_to) {
      if (table.ranks <= most_of_class) continue;
      smallest = std::min(smallest.value_or(table.smallest), table.smallest);
      largest = std::max(largest, table.largest);
    }
    if (smallest)
      all.push_back(fmt::format("{} ({} to {})", operation_name(entry.operation), format_bytes(*smallest),
                                format_bytes(largest)));
    else if (entry.fitted_to.empty())
      all.emplace_back(operation_name(entry.operation));
  }
  return all;
}

// Against github.com/coreweave/nccl-tests' tables of GB200 NVL72, from 512 MiB up, of NCCL 2.26.2.
std::optional<Note> rack_note(const nccl::Communicator& communicator, const nccl::Allowed& allowed,
                              const nccl::Calibration& calibration) {
  constexpr int kMostMeasured = nccl::kMostGpusOfHost;  // GPUs of the class's nodes
  bool is_single = communicator.nodes == 1;
  bool is_rack =
      communicator.joins_racks || (is_single && communicator.nvlink && communicator.ranks > kMostMeasured &&
                                   communicator.gpu >= nccl::Gpu::blackwell);
  auto measured = measured_of_racks(calibration, kMostMeasured);
  std::size_t with_lines = 0;
  for (const auto& row : kOperations) with_lines += nccl::has_lines(row.operation);
  if (!is_rack || (is_single ? measured.size() == with_lines : !calibration.entries.empty()))
    return std::nullopt;
  return Note{
      "nccl-rack-unmeasured",
      fmt::format(
          "{} NVLink domains of more than {} GPUs: {}; calibrate with "
          "nccl-tests' tables ('ddpsim calibrate')",
          is_single && !measured.empty()
              ? fmt::format("nobody calibrated anything but {} of", fmt::join(measured, ", "))
              : "nobody calibrated",
          kMostMeasured,
          is_single ? "the class's times are of 2 to 8, and the one published table of 72 GB200s "
                      "is 17 to 52 % slower"
          : allowed.algorithms.empty()
              ? "NCCL's estimate would pick NVLSTree between them, the published tables of 2 and 20 "
                "racks look like rings, and that is what is taken, 7 to 28 % off them "
                "(collective.nccl.algorithm: nvls has the other); an all-to-all sends at most 24 GB/s "
                "a GPU to other racks, as the one that was measured"
              : "the algorithm is the scenario's; the published tables between racks look like rings, and "
                "are 8 to 150 % off NVLSTree's estimate")};
}

std::optional<Note> collnet_note(const nccl::Communicator& communicator, const nccl::Allowed& allowed) {
  if (!allowed.collnet || communicator.nodes == 1 || communicator.collnet_heads == 0) return std::nullopt;
  return Note{"nccl-collnet-uncalibrated",
              "CollNet is allowed: where NCCL picks it (collnet_direct, collnet_chain, nvls across nodes), "
              "the time is NCCL's own estimate, which no public table of a network that reduces confirms"};
}

std::optional<Note> symmetric_note(const nccl::Allowed& allowed) {
  if (!allowed.symmetric) return std::nullopt;
  return Note{"nccl-symmetric-uncalibrated",
              "all_reduce, all_gather and reduce_scatter are NCCL's symmetric kernels, which it runs only on "
              "buffers in symmetric windows (ncclMemAlloc, ncclCommWindowRegister). No table calibrates "
              "them: times are NCCL's own estimate, large all-reduces at the rate of NVLS, within 7 % on "
              "average and 30 % at worst of the figures that NCCL's sources had before 2.27.3"};
}

}  // namespace

std::vector<std::string> transports_of(const nccl::Communicator& c) {
  std::vector<std::string> all;
  auto limit = [](nccl::PathLevel level) {
    return level == nccl::PathLevel::none ? std::string_view("none") : name_in(nccl::kPathLevelNames, level);
  };
  if (const auto& pcie = c.pcie)
    all.push_back(pcie->through_host()
                      ? fmt::format("within a node: host memory{}, as {}",
                                    pcie->is_interleaved() ? ", interleaved" : "", why_no_peers(c))
                      : fmt::format("within a node: PCIe, peer-to-peer (up to {}, and these are {} apart)",
                                    limit(pcie->limit), limit(pcie->farthest)));
  else if (c.ranks > c.nodes)
    all.emplace_back(c.nvlink ? "within a node: NVLink" : "within a node: links as described");
  if (c.nodes == 1) return all;
  if (!c.sockets) {
    all.emplace_back(c.direct_nics ? "between nodes: RDMA"
                                   : "between nodes: RDMA through host memory, without GPUDirect");
    return all;
  }
  const auto& [threads, sockets, flow, thread, channel] = *c.sockets;
  all.push_back(
      fmt::format("between nodes: TCP sockets, {}{}",
                  threads > 0 ? fmt::format("{} threads x {} a channel", threads, sockets)
                              : fmt::format("{} a channel, copied by the proxy thread", sockets),
                  flow > BytesPerSecond(0) ? fmt::format(", at most {} each", format_bandwidth(flow)) : ""));
  return all;
}

std::vector<Note> nccl_notes(const nccl::Communicator& communicator, const nccl::Allowed& allowed,
                             const nccl::Calibration& calibration) {
  std::vector<Note> notes;
  for (auto& note : {simple_order_note(communicator), unknown_gpu_note(communicator),
                     pcie_note(communicator, calibration), socket_note(communicator, calibration),
                     class_note(communicator), rack_note(communicator, allowed, calibration),
                     collnet_note(communicator, allowed), symmetric_note(allowed)})
    if (note) notes.push_back(*note);
  return notes;
}

}  // namespace ddpsim
