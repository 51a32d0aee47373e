#pragma once
// Who communicates with whom over which links: what the points of a sweep that differ in their buckets only
// have in common.
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/base/names.hpp"
#include "sim/collective/algorithms.hpp"
#include "sim/collective/fold.hpp"
#include "sim/cost/library_model.hpp"
#include "sim/cost/nccl_model.hpp"
#include "sim/topology/cluster.hpp"

namespace ddpsim {

enum class Algorithm { ring, tree, halving_doubling, hierarchical, nvls, nvls_tree };
inline constexpr Names<Algorithm, 6> kAlgorithmNames{{{"ring", Algorithm::ring},
                                                      {"tree", Algorithm::tree},
                                                      {"halving_doubling", Algorithm::halving_doubling},
                                                      {"hierarchical", Algorithm::hierarchical},
                                                      {"nvls", Algorithm::nvls},
                                                      {"nvls_tree", Algorithm::nvls_tree}}};
inline std::string_view algorithm_name(Algorithm algorithm) {
  return name_in(kAlgorithmNames, algorithm);
}

struct CollectiveOptions {
  Algorithm algorithm = Algorithm::ring;
  // nullopt: as many rings as add bandwidth, one of everything else.
  std::optional<int> channels;
  bool search_rings = true;  // over the fastest links; else in the order of the ranks
  // Of rings: these instead, each a cycle over all ranks of the group.
  std::vector<std::vector<int>> rings = {};
};

// Traffic that is not the groups'. It starts at `start` (zero: the start of the last backward pass) and takes
// what bandwidth it gets until `size` is through or `end` is reached, whichever is first; one of them is
// given.
struct BackgroundFlow {
  std::vector<int> links;
  Seconds start;
  std::optional<Bytes> size;
  std::optional<Seconds> end;
};

// Groups that are the same communicator of their ranks' programs.
struct CommunicatorAxis {
  std::string name = "data";
  // What they do, each with its stages in the traffic; all-reduces come first.
  std::vector<Operation> operations{Operation::all_reduce};
  std::size_t first = 0;  // the groups up to those of the next axis
  // The last so many GPUs of each group are parameter servers, and operations are transfers between them and
  // the others.
  int servers = 0;
  int stride = 0;  // ranks of a group are so far apart; 0: its groups are the job's
};

struct Communication {
  std::shared_ptr<const Cluster> cluster;
  CollectiveOptions options;
  std::vector<std::vector<int>> groups;    // GPUs, by the rank in the group; axis by axis
  std::vector<int> labels;                 // by group: equal labels launch the same at the same times
  std::vector<CommunicatorAxis> axes{{}};  // by the program's communicator
  std::vector<BackgroundFlow> background;
  // By group, where NCCL's model says what they take: then each all-reduce is a stage of its schedule.
  std::vector<std::shared_ptr<const NcclModel>> nccl;
  // Where a library's model says what they take, Gloo's or MPI's, and nothing is known of what else is on the
  // links: one group alone.
  std::shared_ptr<const LibraryModel> library;
  // Of asynchronous parameter servers: what the most loaded link takes for each byte that every worker pushes
  // and pulls.
  double server_round = 0;
  std::optional<TrafficPlan> folded;  // where something is to be simulated, or nobody says what it takes
  // Under NCCL's model, by group of the folded plan: what one of its groups does alone on the links.
  std::vector<TrafficPlan> alone;
  // By group: which stages of its plan carry out an operation (under NCCL's model: of an all-reduce one of
  // them). None: the operation is not in the traffic.
  struct Stages {
    std::size_t first = 0, end = 0;
  };
  std::vector<std::map<Operation, Stages>> stages;

  [[nodiscard]] const CommunicatorAxis& axis_of(std::size_t group) const;
  // What all traffic over a link of the cluster gets together: under NCCL what its transports get of it.
  [[nodiscard]] BytesPerSecond capacity(int link) const;
  // Whether every group is one GPU, which has nobody to communicate with.
  [[nodiscard]] bool is_alone() const;
  // One group under NCCL's model with nobody else on the links, a library's, or nobody: there is nothing to
  // simulate.
  [[nodiscard]] bool is_settled() const {
    return library || is_alone() || (!nccl.empty() && groups.size() == 1 && background.empty());
  }
};

// Ranks of a group by node, nodes in the order of their first rank.
std::vector<std::vector<int>> ranks_by_node(const Cluster& cluster, std::span<const int> gpus);

// The all-reduce of a group of GPUs. Throws InputError (without a place) where the algorithm or a ring does
// not fit the cluster.
CollectiveSchedule all_reduce_schedule(const Cluster& cluster, std::span<const int> gpus,
                                       const CollectiveOptions& options);

// The all-reduce over NCCL's trees, along these rings; none: along as many as add bandwidth.
CollectiveSchedule nccl_tree_schedule(const Cluster& cluster, std::span<const int> gpus,
                                      const std::vector<std::vector<int>>& rings = {});

// Only an all-reduce has a choice of algorithms; every other operation has one schedule.
constexpr bool has_algorithms(Operation operation) {
  return operation == Operation::all_reduce;
}

// Of any operation: over as many rings as add bandwidth, or chains from or to rank 0; all-to-all and
// send/recv directly.
CollectiveSchedule operation_schedule(const Cluster& cluster, std::span<const int> gpus, Operation operation);

// Sets `folded`, `alone` and `stages`.
void fold_traffic(Communication& communication);

// Calls `use` with all of the communication's traffic, schedules included, which live as long as the call:
// they have an edge a rank.
void with_traffic(const Communication& communication, const std::function<void(const Traffic&)>& use);

}  // namespace ddpsim
