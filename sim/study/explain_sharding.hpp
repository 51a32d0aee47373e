#pragma once
// What could be different about how a strategy shards: unit sizes, shard groups, buckets, communicators.
#include <vector>

#include "sim/study/what_if.hpp"

namespace ddpsim {

// Sizes of what is reduced at once, from the key table.
void add_bucket_sizes(const WhatIf& what_if, std::vector<Change>& changes);

void add_sharding_changes(const WhatIf& what_if, const Scenario& scenario, std::vector<Change>& changes);

}  // namespace ddpsim
