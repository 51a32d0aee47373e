#pragma once
// Which bucket caps explain the all-reduces of a recorded step: the caps under which PyTorch's rule puts the
// gradients of a trace into just those buckets.
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/ddp/reduction_plan.hpp"
#include "sim/trace/recorded_communication.hpp"

namespace ddpsim {

// Caps in whole bytes, both included; without `largest` any larger one will do.
struct CapInterval {
  Bytes smallest;
  std::optional<Bytes> largest;

  [[nodiscard]] bool contains(Bytes cap) const { return cap >= smallest && (!largest || cap <= *largest); }
  bool operator==(const CapInterval&) const = default;
};

// Every first cap of `first` together with every cap of `later` gives the recorded buckets.
struct CapIntervals {
  CapInterval first, later;
  bool operator==(const CapIntervals&) const = default;
};

// All pairs of caps that do, as disjoint rectangles; one for gradients of one dtype, none where no caps give
// the buckets. The caps of `options` do not count, the rest of them does. A bucket closes with the tensor
// that brings it to its cap: the cap is above what the bucket held before that tensor, and at most what it
// holds with it. The last bucket of a dtype may be left open: its cap has no upper end.
std::vector<CapIntervals> caps_that_give(std::span<const RecordedCollective> recorded,
                                         const LayerTrace& trace, const DdpOptions& options);

// `options` with the roundest caps that give the recorded buckets: none at all where PyTorch's defaults do,
// then bucket_cap alone, then both; 25 MiB and 1 MiB where they will do. Nothing where no caps give them.
std::optional<DdpOptions> options_that_give(std::span<const RecordedCollective> recorded,
                                            const LayerTrace& trace, const DdpOptions& options);

// The caps of such options as a user writes them: "PyTorch's default bucket_cap", "bucket_cap 25MiB",
// "first_bucket_cap 1MiB and bucket_cap 8MiB".
std::string describe_caps(const DdpOptions& options);

}  // namespace ddpsim
