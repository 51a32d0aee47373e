#pragma once
// The buckets of a trace as a table for people: when each is complete on a GPU that communicates with nobody.
#include <iosfwd>
#include <string>

#include "sim/ddp/reduction_plan.hpp"

namespace ddpsim {

// "72 buckets, bucket cap 25 MiB (first 1 MiB)".
std::string describe_buckets(const ReductionPlan& plan);

void print_bucket_table(std::ostream& out, const LayerTrace& trace, const ReductionPlan& plan);

}  // namespace ddpsim
