#include "sim/nccl/peer_model.hpp"

#include <algorithm>
#include <cmath>

#include "sim/nccl/constants.hpp"

namespace ddpsim::nccl {
namespace {

// A send/recv takes what an all-to-all of two ranks does that sends as much; a gather or scatter what one of
// as large a buffer does: rank 0's link carries as much.
LineMessage peer_message(const Communicator& c, Operation operation, Bytes bytes) {
  bool is_one_way = is_pair(operation);
  return {is_one_way ? 2 : c.ranks, 0, is_one_way ? 2 * bytes : bytes, c.nvlink_peak,
          std::max(c.nvlink_peak, class_link(class_of(c)))};
}

P2pPlan plan_of(const Communicator& c, const LineMessage& message) {
  return p2p_plan(c, std::max(Bytes(1), message.bytes / message.ranks));
}

// Of a message between two nodes or over PCIe, as NCCL counts a ring's step; without InfiniBand's own, which
// is in it.
Seconds step_latency(const Communicator& c) {
  const auto& known = constants(kNewestVersion);
  bool is_network = c.nodes > 1;
  auto hardware = is_network ? Hardware::network : Hardware::pci;
  auto ring = static_cast<std::size_t>(Algorithm::ring), simple = static_cast<std::size_t>(Protocol::simple);
  Seconds step(known.step_latency[static_cast<std::size_t>(hardware)][ring][simple] * 1e-6);
  return is_network ? step + beyond_infiniband(c) : step;
}

// What each GPU of two racks of GB300s sent to the other rack in an all-to-all of 8 and 16 GiB, on NICs of
// 800 Gb/s
// ("OCI GPU Quick Start: NVIDIA GB300", NCCL 2.28.7, 128 GPUs: 47.5 GB/s of bus bandwidth). One machine. A
// pair alone has its NICs.
constexpr BytesPerSecond kBetweenRacks{24e9};

Seconds between_racks(const Communicator& c, Operation operation, Bytes bytes) {
  if (!c.joins_racks || is_pair(operation)) return {};
  double elsewhere = 1 - 1.0 / c.nodes;  // of a GPU's bytes
  return elsewhere * bytes / kBetweenRacks;
}

// What a message takes at least of what is no link's: through interleaved memory what one GPU gets, whoever
// it sends to (measurements/aiconfigurator_l40s.csv), over sockets what a process does, without GPUDirect
// what the way through its host lets by.
Seconds limited(const Communicator& c, Operation operation, Bytes bytes) {
  bool is_one_way = is_pair(operation);
  Seconds within;
  if (c.pcie && c.pcie->is_interleaved()) {
    double of_node = is_one_way ? c.nodes == 1 : (c.pcie->gpus - 1.0) / c.ranks;
    within = of_node * bytes / c.pcie->flow;
  }
  if (c.nodes == 1) return within;
  if (c.network_limit == BytesPerSecond(0)) return within;
  if (c.sockets) {
    auto rate = socket_rate(*c.sockets, c.network_peak, is_one_way ? 2 : 1).rate;
    return std::max(within, (is_one_way ? 1 : 1 - 1.0 / c.nodes) * bytes / rate);
  }
  double of_node = is_fan(operation) ? 1 : 1.0 * c.ranks / c.nodes;
  return std::max(within, (is_one_way ? 1 : of_node * (1 - 1.0 / c.nodes)) * bytes / c.network_limit);
}

}  // namespace

PeerModel::PeerModel(const Communicator& communicator, const Calibration& calibration)
    : communicator_(with_measured_pcie(communicator, calibration)),
      calibration_(calibration),
      lines_(node_lines(calibration, class_of(communicator), Operation::all_to_all)) {}

PeerModel::Choice PeerModel::in_nvlink_node(Operation operation, Bytes bytes,
                                            const LinkBounds& bounds) const {
  auto message = peer_message(communicator_, operation, bytes);
  auto plan = plan_of(communicator_, message);
  bool is_ll = plan.protocol == Protocol::ll;
  bool many =
      constants(communicator_.version).p2p_low_latency == Constants::P2pLowLatency::of_channels_a_peer;
  auto on = [&](const PeerLines& lines) { return peer_line(lines, is_ll, many, message); };
  auto time = on(lines_.peers);
  if (Seconds bound(bounds.all * bytes.value()); bound > time) return {plan, bound, TimesFrom::links};
  auto from = times_on_peer_lines(lines_, communicator_.ranks, bytes, on);
  if (!is_exchange(operation) && from == TimesFrom::own) from = TimesFrom::other_operation;
  return {plan, time, from};
}

PeerModel::Choice PeerModel::choose(Operation operation, Bytes bytes, const LinkBounds& bounds) const {
  const auto& c = communicator_;
  if (is_nvlink_node(c)) return in_nvlink_node(operation, bytes, bounds);
  auto message = peer_message(c, operation, bytes);
  Seconds start((lines_.peers.base + lines_.peers.rank * std::log2(message.ranks)) * 1e-6);
  auto on_all = std::max({Seconds(bounds.all / (c.sockets ? 1 : network_share(c.nodes)) * bytes.value()),
                          between_racks(c, operation, message.bytes), limited(c, operation, bytes)});
  Seconds within(bounds.within_nodes * bytes.value());
  // Measured with all-reduces over the same PCIe.
  const auto* measured = !c.pcie || !c.pcie->is_measured || within < on_all
                             ? nullptr
                             : calibration_.best_for(Algorithm::ring, false);
  auto from = measured ? measured_times(TimesFrom::other_operation, measured->fitted_to, c.ranks, bytes)
                       : TimesFrom::links;
  return {plan_of(c, message), start + step_latency(c) + std::max(on_all, within), from};
}

}  // namespace ddpsim::nccl
