#pragma once
#include "sim/base/operation.hpp"
#include "sim/compute/memory.hpp"

namespace ddpsim {

// How gradients of the stages of a pipeline, and of experts that ranks share, are reduced and stepped along
// the data axis.
struct StageAxis {
  Operation reduction = Operation::all_reduce;
  bool overlaps_reduction = true, gathers = false, overlaps_gather = false;
  double gradient_bytes = 4, parameter_bytes = 4;  // of each parameter, as it travels
  double bucket_elements = 0;                      // at least so many in a bucket; 0: all are one
  bool closes_before = false;                      // a bucket has at most so many, or one tensor (ZeRO)
  int bucket_units = 0;                            // or so many blocks; the ends are units, too (FSDP)
  int shards = 0;  // ranks that hold the parameters together, each group all of them; 0: all that reduce
  bool only_first_has_buckets = false;  // of the stages and their chunks (Megatron)
  Sharding sharding = Sharding::none;
  StateBytes state = {};
  // Under a pipeline: parameters are gathered before the first micro-batch and stay until the last one is
  // through, and so do whole gradients.
  bool holds_gathered = false;
  bool operator==(const StageAxis&) const = default;
};

}  // namespace ddpsim
