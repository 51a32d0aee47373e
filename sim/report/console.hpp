#pragma once
// What an iteration is made of, for people.
#include <cstddef>
#include <iosfwd>

#include "sim/base/terminal.hpp"
#include "sim/result/metrics.hpp"

namespace ddpsim {

inline constexpr std::size_t kUsualBuckets = 12;

// What adds up to the iteration, how much communication is hidden, and the buckets; of more than
// `most_buckets` of them only the first and the last.
void print_iteration(std::ostream& out, const Terminal& terminal, const IterationMetrics& metrics,
                     std::size_t most_buckets = kUsualBuckets);

}  // namespace ddpsim
