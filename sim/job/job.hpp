#pragma once
// What a scenario says, as plain values that are compared, written and sent as they are. A std::optional is
// empty where nothing was said and the default depends on other keys. The rows that read these are in
// rows/.
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "sim/base/units.hpp"
#include "sim/collective/backend.hpp"
#include "sim/compute/optimizer.hpp"
#include "sim/compute/transformer_times.hpp"
#include "sim/config/value.hpp"
#include "sim/cost/communication.hpp"
#include "sim/ddp/reduction_plan.hpp"
#include "sim/engine/scenario.hpp"
#include "sim/gpu/precision.hpp"
#include "sim/nccl/version.hpp"
#include "sim/program/host.hpp"
#include "sim/program/pipeline_schedule.hpp"
#include "sim/strategy/strategy.hpp"
#include "sim/topology/fabric.hpp"
#include "sim/topology/hashing.hpp"
#include "sim/topology/placement.hpp"
#include "sim/topology/scaled_links.hpp"

namespace ddpsim {
namespace job {

struct Automatic {
  bool operator==(const Automatic&) const = default;
};

struct Straggler {
  std::optional<int> rank, node;
  double slowdown = 1;
  bool operator==(const Straggler&) const = default;
};
// The trace as an estimate for another GPU, by a stated factor or from what the two can do.
struct Rescale {
  std::optional<std::string> from, to;  // names or files
  DType dtype = DType::float32;
  std::optional<double> factor;
  bool operator==(const Rescale&) const = default;
};
struct Attention {
  std::optional<std::string> kernel;
  std::optional<bool> causal;
  bool operator==(const Attention&) const = default;
};
struct Workload {
  std::optional<std::string> trace;
  std::vector<std::string> recording;  // of each stage of a pipeline one; empty: none
  config::Value model;                 // a name, a file, or the sizes themselves; null: none
  std::optional<std::int64_t> micro_batch, sequence;
  std::optional<Precision> dtype;
  std::optional<DType> gradients;
  Recompute recompute = Recompute::none;
  std::int64_t recomputed = kAllBlocks;  // of each chunk's blocks the first so many
  RecomputedModules modules = {};        // selective
  std::optional<Attention> attention;
  std::optional<bool> dropout;
  std::optional<std::string> framework, compute;
  double scale_bytes = 1;
  std::vector<std::string> unused_parameters;
  std::vector<std::string> frozen;  // modules
  std::optional<double> tokens;     // of the whole training
  std::optional<Rescale> rescale;
  std::vector<Straggler> stragglers;
  bool operator==(const Workload&) const = default;
};

struct RankRange {
  int from = 0, to = 0, step = 1;  // both ends included
  bool operator==(const RankRange&) const = default;
};
struct Group {
  std::variant<std::vector<int>, RankRange> ranks;
  Seconds offset;
  bool operator==(const Group&) const = default;
};
struct AllRanks {
  bool operator==(const AllRanks&) const = default;
};
struct TensorParallel {
  int ranks = 1;
  bool operator==(const TensorParallel&) const = default;
};
// A link, or a node with all its NICs.
struct Override {
  std::optional<int> node;
  std::optional<std::string> link;
  std::optional<BytesPerSecond> bandwidth;
  std::optional<Seconds> latency;
  bool broken = false;
  bool operator==(const Override&) const = default;
};
struct Background {
  std::vector<std::string> links;
  Seconds start;  // from the start of backward
  std::optional<Bytes> size;
  std::optional<Seconds> end;
  bool operator==(const Background&) const = default;
};
// What is different from the topology's file, of all nodes alike.
struct NicsOfNodes {
  std::optional<BytesPerSecond> bandwidth;
  std::optional<Seconds> latency;
  std::optional<int> count;
  bool operator==(const NicsOfNodes&) const = default;
};
struct LinksOfNodes {
  std::optional<BytesPerSecond> bandwidth;
  std::optional<Seconds> latency;
  std::optional<std::optional<nccl::PathLevel>> peer_to_peer;
  std::optional<int> numa;  // domains of a socket
  bool operator==(const LinksOfNodes&) const = default;
};
struct Node {
  std::optional<int> gpus;
  bool operator==(const Node&) const = default;
};
struct FabricOfNodes {
  std::optional<double> oversubscription;
  std::optional<NetworkClass> network;
  std::optional<nccl::Cloud> cloud;
  bool operator==(const FabricOfNodes&) const = default;
};
struct SocketsOfNodes {
  std::optional<int> threads, sockets;
  std::optional<bool> pod;
  bool operator==(const SocketsOfNodes&) const = default;
};
struct Cluster {
  std::optional<std::string> topology, gpu;
  int world_size = 1;
  Placement placement;
  std::variant<AllRanks, TensorParallel, std::vector<Group>> groups;
  std::vector<Override> overrides;
  std::vector<Background> background;
  std::optional<int> nodes, domain_gpus;
  std::optional<Hashing> hashing;  // none: flows are spread
  NicsOfNodes nics;
  LinksOfNodes interconnect;
  Node node;
  FabricOfNodes fabric;
  SocketsOfNodes socket;
  std::optional<double> price;
  bool operator==(const Cluster&) const = default;
};

// What differs from what NCCL would do by itself.
struct Nccl {
  std::vector<nccl::Algorithm> algorithms;  // empty: any
  std::vector<nccl::Protocol> protocols;
  std::optional<nccl::Version> version;
  std::optional<bool> collnet, symmetric;
  std::optional<std::string> calibration;
  bool operator==(const Nccl&) const = default;
};
// What is different about the machines.
struct Gloo {
  std::optional<BytesPerSecond> process, cached, machine, reduction, copy;
  std::optional<Bytes> cache;
  std::optional<Seconds> step_latency;
  // Whether nothing that counts for large messages is left to our estimate.
  [[nodiscard]] bool is_whole() const { return process && reduction && copy && step_latency; }
  bool operator==(const Gloo&) const = default;
};
enum class RingOrder { search, ranks };
// The library's own choice, a schedule over the links, or a table.
struct Measured {
  bool operator==(const Measured&) const = default;
};
struct Collective {
  Backend backend = Backend::nccl;
  std::optional<int> workers;
  std::variant<Automatic, Algorithm, Measured> algorithm;
  std::optional<std::optional<int>> channels;  // an empty one inside: auto
  std::optional<RingOrder> ring_order;
  std::vector<std::vector<int>> rings;
  std::optional<std::string> measured;
  std::optional<Nccl> nccl;
  std::optional<Gloo> gloo;
  LinkScale scale = {};
  bool operator==(const Collective&) const = default;
};

struct HostMachine {
  std::optional<BytesPerSecond> copy_bandwidth;
  double adam_rate = kUsualAdamRate;
  bool operator==(const HostMachine&) const = default;
};

// How GPUs share a copy of the model.
struct Parallelism {
  int tensor = 1, pipeline = 1, context = 1, expert = 1;
  std::optional<int> data;  // none: what the world leaves
  bool sequence = false;
  bool operator==(const Parallelism&) const = default;
};
// Of the first and the last rank's stages together; the others have as many each.
struct EndLayers {
  std::optional<std::int64_t> first, last;
  bool operator==(const EndLayers&) const = default;
};
struct Pipeline {
  std::optional<PipelineSchedule> schedule;  // none: by `chunks`
  int chunks = 1, group = 0;
  std::optional<bool> overlap_p2p;                                       // none: not under 1f1b and gpipe
  std::variant<Automatic, EndLayers, std::vector<std::int64_t>> layers;  // a list: by stage
  bool count_embedding = false, count_loss = false;
  bool operator==(const Pipeline&) const = default;
};
struct Tensor {
  std::optional<TensorOverlap> overlap;  // none: as the software does
  std::optional<double> hidden;
  bool operator==(const Tensor&) const = default;
};
struct Context {
  ContextKind kind = ContextKind::ring;
  bool operator==(const Context&) const = default;
};
struct Expert {
  int tensor = 1;  // ranks that share each expert
  Dispatcher dispatcher = Dispatcher::all_to_all;
  int dispatch_sms = kUsualDispatchSms;
  std::optional<int> node_limit;  // none: all
  DispatchType dtype = DispatchType::bfloat16;
  std::optional<double> capacity;   // over the mean; none: all that come
  std::optional<double> imbalance;  // a Dirichlet distribution's concentration
  std::uint64_t seed = 1;
  bool shared_overlap = false;
  bool operator==(const Expert&) const = default;
};
struct Batch {
  std::optional<std::int64_t> global;  // samples a step, of all GPUs
  bool operator==(const Batch&) const = default;
};

struct Passes {
  double in = 0, out = 0;
  bool operator==(const Passes&) const = default;
};
struct Off {
  bool operator==(const Off&) const = default;
};
// Whatever is not said is the strategy's.
struct HostHooks {
  bool is_none = false;
  std::optional<Seconds> module, gradient, parameter;
  bool operator==(const HostHooks&) const = default;
};
struct Physics {
  bool is_none = false;  // the textbook's, whatever the GPU
  std::optional<Interference> interference;
  std::optional<std::string> calibration;
  std::optional<BytesPerSecond> pass_bandwidth;
  std::optional<Seconds> pass_launch;
  std::optional<std::variant<Automatic, Off, Passes>> passes;
  Seconds gradient;
  std::optional<Seconds> launch;
  Seconds first_start;
  std::optional<HostHooks> hooks;
  bool operator==(const Physics&) const = default;
};
struct Spread {
  bool is_none = false;
  std::optional<double> ranks;
  double nodes = 0;
  bool operator==(const Spread&) const = default;
};

struct Table {
  std::string observed;  // CSV
  bool operator==(const Table&) const = default;
};
struct OfTrace {
  bool operator==(const OfTrace&) const = default;
};
using Distribution = std::variant<Off, double, Table>;
struct Shares {
  double p5 = 1, median = 1, p95 = 1;
  bool operator==(const Shares&) const = default;
};
struct Variability {
  std::optional<std::uint64_t> seed;
  int iterations = 200;
  ReportedIteration report = ReportedIteration::median;
  Distribution ranks, nodes;
  std::vector<SlowOnes> slow;
  std::optional<std::variant<OfTrace, Off, double, Table>> jitter;
  std::optional<std::variant<Off, std::string, Shares>> weather;
  bool operator==(const Variability&) const = default;
};

struct Engine {
  std::optional<Fidelity> fidelity;  // none: auto
  SharedNetwork network = SharedNetwork::builtin;
  bool operator==(const Engine&) const = default;
};

struct Testbed {
  BytesPerSecond rate;
  std::optional<Seconds> delay;
  bool operator==(const Testbed&) const = default;
};
struct Thresholds {
  std::optional<double> iteration_error, regret;
  bool operator==(const Thresholds&) const = default;
};
struct Validation {
  Backend backend = Backend::gloo;
  RealCompute compute = RealCompute::replay;
  std::optional<int> ranks;
  std::optional<Testbed> testbed;
  std::optional<std::string> measured;
  Thresholds thresholds;
  bool operator==(const Validation&) const = default;
};

}  // namespace job

struct Job {
  job::Workload workload;
  Optimizer optimizer;
  job::Cluster cluster;
  job::Collective collective;
  ChosenStrategy strategy;
  DdpOptions ddp;
  Sections sections;  // of the other strategies
  job::HostMachine host;
  job::Parallelism parallelism;
  job::Pipeline pipeline;
  job::Tensor tensor;
  job::Context context;
  std::optional<job::Expert> expert;
  job::Batch batch;
  job::Physics physics;
  std::optional<job::Spread> spread;
  std::optional<Failures> failures;
  std::optional<job::Variability> variability;
  std::optional<std::string> evidence;
  job::Engine engine;
  job::Validation validation;

  // Whether GPUs share a copy of the model.
  [[nodiscard]] bool splits_model() const {
    return parallelism.tensor * parallelism.context * parallelism.pipeline > 1 || parallelism.expert > 1 ||
           (expert.has_value() && cluster.world_size > 1);
  }
  // Whether several ranks reduce.
  [[nodiscard]] bool reduces() const {
    int of_a_stage = cluster.world_size / parallelism.pipeline;
    return !splits_model() || of_a_stage > parallelism.tensor ||
           (parallelism.expert > 1 && of_a_stage > parallelism.expert);
  }
  // Of its strategy, for what layers are computed in.
  [[nodiscard]] StrategyChoice choice(DType computed) const {
    return {strategy, ddp, sections, computed, strategy->shard_group(sections)};
  }
  // Whether weights and gradients are held as param_dtype says, or in the 16 bits that are computed in, as
  // with ZeRO, Megatron's optimizer and FSDP of a pipeline's stages; elsewhere as workload.gradients says.
  [[nodiscard]] bool says_type_of_weights() const;
  // Whether weights are held in 16 bits between steps, beside a copy or without.
  [[nodiscard]] bool holds_16_bit_weights() const;
  bool operator==(const Job&) const = default;
};

}  // namespace ddpsim
