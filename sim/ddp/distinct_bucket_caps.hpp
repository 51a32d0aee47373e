#pragma once
#include <cstddef>
#include <functional>
#include <vector>

#include "sim/ddp/reduction_plan.hpp"

namespace ddpsim {

// Visits each cap from which on `bucket_cap` gives other buckets than below it, ascending: for each cap c and
// the next one d, all caps in [c, d) give the same buckets. `same_as`: the number of the first cap visited
// with these buckets, its own unless they come again (of several dtypes they may). Everything but
// options.bucket_cap stays as given. One assignment is held at a time; there may be many more than gradients.
void for_each_distinct_bucket_cap(const LayerTrace& trace, const DdpOptions& options,
                                  const std::function<void(Bytes cap, std::size_t same_as)>& visit);
// All of them.
std::vector<Bytes> distinct_bucket_caps(const LayerTrace& trace, const DdpOptions& options);

}  // namespace ddpsim
