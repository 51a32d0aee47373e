#pragma once
// What a collective takes under NCCL: its tuner chooses an algorithm and a protocol, and the time is that of
// a line inside an NVLink node (lines.hpp), of a calibrated curve across nodes or over PCIe (curve.hpp), of a
// ring over the links themselves where there is no curve, and the tuner's own estimate for the rest.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/nccl/calibration.hpp"
#include "sim/nccl/symmetric.hpp"
#include "sim/nccl/times_from.hpp"
#include "sim/nccl/tuner.hpp"

namespace ddpsim::nccl {

// What a ring gets of links between nodes: the share that published reduce-scatters of 4 to 128 nodes of
// H100s show (github.com/NVIDIA/nccl/issues/1229: 360 to 260 GB/s of 400). Within a node: all.
double network_share(int nodes);
// Whether what was measured between nodes was measured over such a network: curves over RDMA say nothing of
// TCP.
bool is_of_network(const Calibration& calibration, const Communicator& communicator);
// With the share of PCIe within nodes that the machine's own all-reduces got, of as many GPUs of a node.
Communicator with_measured_pcie(Communicator communicator, const Calibration& calibration);
// What a ring, or a tree's chains, get of each node's PCIe, in bytes of busbw; nullopt: there is none in
// between, or nothing says that it holds them up.
std::optional<BytesPerSecond> pcie_busbw(const Communicator& communicator);
// What a ring gets of all its links: across nodes it goes through each node as well.
BytesPerSecond ring_busbw(const Communicator& communicator);

// What a message takes longer than over InfiniBand.
Seconds beyond_infiniband(const Communicator& communicator);

// What lines say of a pick inside an NVLink node; nullopt of what goes over neither a ring nor NVLS.
std::optional<Seconds> line_time(const RingLines& lines, const Candidate& pick,
                                 const Communicator& communicator, Operation operation, Bytes bytes);

class CostModel {
 public:
  // Not for all-to-all and send/recv (peer_model.hpp). Throws InputError (without a place) when nothing that
  // is allowed is possible, or the calibration is of another kind of machine.
  CostModel(const Communicator& communicator, const Allowed& allowed, const Calibration& calibration,
            Collective collective = {});

  struct Choice {
    const Candidate* candidate;
    Seconds time;
    int channels;
  };
  [[nodiscard]] Choice choose(Bytes bytes) const;
  [[nodiscard]] Seconds time(const Candidate& candidate, Bytes bytes) const;

  // Of the tuner.
  [[nodiscard]] const std::vector<Candidate>& candidates() const { return tuner_.candidates(); }
  // What is run instead where it can be; null: buffers are not in symmetric windows.
  [[nodiscard]] const SymmetricKernels* symmetric() const { return symmetric_ ? &*symmetric_ : nullptr; }
  [[nodiscard]] const Communicator& communicator() const { return tuner_.communicator(); }
  [[nodiscard]] TimesFrom times_from(const Candidate& candidate, Bytes bytes) const;
  // In words, with the class.
  [[nodiscard]] std::string_view source_of(const Candidate& candidate, Bytes bytes) const;
  [[nodiscard]] const Calibration& calibration() const { return calibration_; }
  // algbw of an algorithm's large messages.
  [[nodiscard]] BytesPerSecond bandwidth(Algorithm algorithm) const;

 private:
  [[nodiscard]] Seconds on_lines(const RingLines& lines, const Candidate& candidate, Bytes bytes) const;
  [[nodiscard]] Seconds on_curve(const Calibration::Entry& entry, const Candidate& candidate,
                                 Bytes bytes) const;
  [[nodiscard]] Seconds over_links(const Candidate& candidate, Bytes bytes) const;
  [[nodiscard]] Seconds as_tuner_counts(const Candidate& candidate, Bytes bytes) const;
  // Of a ring over links: what its bytes take on the links, and on each node's NVLink as lines have it, which
  // the ring goes through on its way.
  [[nodiscard]] Seconds moved_over_links(const Candidate& candidate, Bytes bytes) const;
  [[nodiscard]] Seconds moved_in_nodes(const RingLines& lines, const Candidate& candidate, Bytes bytes) const;
  // The curve that a candidate's times are read off; null: there is none.
  [[nodiscard]] const Calibration::Entry* curve(const Candidate& candidate) const;
  // Whose curve is looked for first.
  [[nodiscard]] Algorithm curve_of(const Candidate& candidate) const;

  Operation operation_;
  Tuner tuner_;     // which picks
  Tuner physical_;  // what it would count with the latency that messages have
  Calibration calibration_;
  std::optional<NodeLines> lines_;   // of NVLink nodes: whole times inside one, parts of a ring across them
  std::optional<CurveShape> shape_;  // where a time is not one on lines
  std::optional<SymmetricKernels> symmetric_;
};

}  // namespace ddpsim::nccl
