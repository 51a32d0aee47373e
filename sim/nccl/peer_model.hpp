#pragma once
// What all-to-all, gather, scatter and send/recv take under NCCL, which sends each peer its part at once:
// inside an NVLink node a line (lines.hpp), elsewhere a latency and what the most loaded link takes. No
// public table of them crosses nodes or PCIe.
#include <optional>

#include "sim/nccl/calibration.hpp"
#include "sim/nccl/cost_model.hpp"
#include "sim/nccl/p2p.hpp"

namespace ddpsim::nccl {

// What the most loaded link takes, in seconds for each byte that a rank sends in all: of all links, and of
// those within nodes.
struct LinkBounds {
  double all = 0, within_nodes = 0;
};

class PeerModel {
 public:
  PeerModel(const Communicator& communicator, const Calibration& calibration);

  struct Choice {
    P2pPlan plan;  // of a message to one peer
    Seconds time;
    TimesFrom from;
  };
  // `bytes` is what a rank sends to all ranks, its own part included; of a gather or scatter rank 0's buffer,
  // of send/recv the message.
  [[nodiscard]] Choice choose(Operation operation, Bytes bytes, const LinkBounds& bounds) const;

 private:
  [[nodiscard]] Choice in_nvlink_node(Operation operation, Bytes bytes, const LinkBounds& bounds) const;

  Communicator communicator_;
  Calibration calibration_;
  NodeLines lines_;
};

}  // namespace ddpsim::nccl
