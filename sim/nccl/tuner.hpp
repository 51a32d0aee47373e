#pragma once
// NCCL's own cost model of an all-reduce, with which it chooses an algorithm and a protocol
// (src/graph/tuning.cc: ncclTopoTuneModel, ncclTopoGetAlgoTime). It is there to choose; what an all-reduce
// really takes is cost_model.hpp's business.
#include <optional>
#include <vector>

#include "sim/base/units.hpp"
#include "sim/nccl/channel_graphs.hpp"
#include "sim/nccl/names.hpp"

namespace ddpsim::nccl {

// A group of ranks, one a GPU, all GPUs and CPUs alike.
struct Communicator {
  Version version = Version::v2_27_6;
  Gpu gpu = Gpu::hopper;
  Cpu cpu = Cpu::intel;
  int ranks = 0, nodes = 1;
  bool nvlink = true;  // its rings stay on NVLink within a node
  Graph ring, tree;
  std::optional<Graph> nvls;  // where every node's switch reduces and multicasts
  Seconds nic_latency;        // as NCCL's network plugin reports it
  // Not for the tuner, which counts otherwise, but for the cost model:
  BytesPerSecond nvlink_peak;       // the data-sheet bandwidth of all rings within a node together
  BytesPerSecond memory_bandwidth;  // of a GPU, by its data sheet

  [[nodiscard]] bool operator==(const Communicator&) const = default;
};

// What is left to choose from (NCCL_ALGO, NCCL_PROTO); empty: whatever NCCL enables.
struct Allowed {
  std::vector<Algorithm> algorithms;
  std::vector<Protocol> protocols;
};

struct Candidate {
  Algorithm algorithm;
  Protocol protocol;
  int channels;
  Seconds latency;
  BytesPerSecond algbw;  // bytes of the buffer over time, without the latency, as the tuner counts it
  BytesPerSecond rate;   // the same as it runs: more where the tuner counts far less than the links give

  [[nodiscard]] bool operator==(const Candidate&) const = default;
};

class Tuner {
 public:
  Tuner(const Communicator& communicator, const Allowed& allowed);

  // By algorithm, then protocol. Empty when what is allowed is not possible here.
  [[nodiscard]] const std::vector<Candidate>& candidates() const { return candidates_; }
  [[nodiscard]] const Communicator& communicator() const { return communicator_; }
  [[nodiscard]] Seconds time(const Candidate& candidate, Bytes bytes) const;
  // The cheapest as the tuner counts; the first among equals. There is at least one candidate.
  [[nodiscard]] const Candidate& choose(Bytes bytes) const;

 private:
  [[nodiscard]] Seconds time_at(BytesPerSecond algbw, const Candidate& candidate, Bytes bytes) const;

  Communicator communicator_;
  std::vector<Candidate> candidates_;
};

}  // namespace ddpsim::nccl
