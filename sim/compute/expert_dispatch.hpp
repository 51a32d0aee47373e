#pragma once
// How long tokens travel to their experts and back by kernels other than NCCL's: DeepEP's, and NVLink
// all-to-alls of a rack. docs/model.md, "DeepEP and racks".
#include <optional>

#include "sim/compute/transformer_times.hpp"

namespace ddpsim {

// Of that many ranks, nodes or NVLink domains, how many a token reaches whose experts are spread evenly over
// them.
double reached(int places, std::int64_t top_k);

// Whose measurements stand for a GPU's.
enum class DispatchMachine { hopper, blackwell, rack };
// nullopt: nobody has measured such GPUs. `is_rack`: an NVLink domain of more GPUs than a host has.
std::optional<DispatchMachine> dispatch_machine(const GpuDescription& gpu, bool is_rack);

// The tokens of a rank in a pass over a block.
struct DispatchLoad {
  double tokens = 0;
  std::int64_t hidden = 0, top_k = 1, experts = 1;
};
DispatchLoad dispatch_load(const Transformer& model, const StepShape& shape);

// Of the ranks that share experts. Rates are those of one GPU in a direction; zero: as on the machine that
// was measured.
struct DispatchPlaces {
  int ranks = 1, nodes = 1;  // NVLink domains
  BytesPerSecond nvlink = {}, nic = {};
};

struct DispatchBytes {
  Bytes dispatch, combine;
};
// All copies of a rank's tokens.
DispatchBytes dispatch_bytes(const ExpertShape& shape, const DispatchLoad& load);

struct DispatchTimes {
  Seconds dispatch, combine;
};
// `shape.dispatcher` is none of NCCL's.
DispatchTimes dispatch_times(const ExpertShape& shape, DispatchMachine machine, const DispatchLoad& load,
                             const DispatchPlaces& places);

}  // namespace ddpsim
