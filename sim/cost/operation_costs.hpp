#pragma once
// What each collective costs on a cluster, of all of its GPUs, while nobody else uses the links.
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/base/operation.hpp"
#include "sim/cost/library_model.hpp"
#include "sim/nccl/calibration.hpp"
#include "sim/topology/cluster.hpp"
#include "sim/topology/nccl_platform.hpp"

namespace ddpsim {

// For a buffer of `bytes` as nccl-tests prints it: of an all-gather or reduce-scatter all ranks' parts
// together, of an all-to-all what a rank sends to all ranks.
struct OperationCost {
  Operation operation{};
  Bytes bytes;
  std::string algorithm, protocol;  // "ring", "ll128"; no protocol of a plain schedule
  int channels = 1;
  std::optional<Seconds> time;
  std::string why_not;  // without a time: why this cluster cannot do it
  // "calibrated", "class", "links", "tuner" (nccl::kind_name); "estimated" of Gloo, "declared" of MPI
  std::string source;
  std::string note;  // where the time comes from, for people
};

// Of these GPUs, by operation, then size: what NCCL picks and takes. A send/recv is one from the first GPU to
// the last. An algorithm or protocol that NCCL is forced to holds for every operation that it tunes: one that
// cannot do it says why. Throws InputError where none of them can, or NCCL tunes none.
std::vector<OperationCost> nccl_costs(const Cluster& cluster, const std::vector<int>& gpus,
                                      const NcclPlatform& platform, const nccl::Allowed& allowed,
                                      const nccl::Calibration& calibration,
                                      std::span<const Operation> operations, std::span<const Bytes> sizes);

// By operation, then size: what a library's model says.
std::vector<OperationCost> library_costs(const LibraryModel& model, std::span<const Operation> operations,
                                         std::span<const Bytes> sizes);

// By operation and algorithm, then size: plain schedules over the links.
std::vector<OperationCost> plain_costs(const Cluster& cluster, const std::vector<int>& gpus,
                                       std::span<const Operation> operations, std::span<const Bytes> sizes);

}  // namespace ddpsim
