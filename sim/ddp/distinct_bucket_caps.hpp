#pragma once
#include <vector>

#include "sim/ddp/reduction_plan.hpp"

namespace ddpsim {

// The smallest cap of every distinct assignment that `bucket_cap` can produce, ascending: for each cap c and
// the next one d, all caps in [c, d) give the same buckets. Everything but options.bucket_cap stays as given.
std::vector<Bytes> distinct_bucket_caps(const LayerTrace& trace, const DdpOptions& options);

}  // namespace ddpsim
