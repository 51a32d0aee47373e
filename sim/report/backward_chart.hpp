#pragma once
// A trace as a picture: how many bytes of gradients are ready when, and how many lie in complete buckets.
#include <string>

#include "sim/ddp/reduction_plan.hpp"
#include "sim/report/chart.hpp"

namespace ddpsim {

// Two stairs over the time of the backward pass, and a mark at the moment at which each bucket is complete,
// with its number above. Of many buckets as many are numbered as there is room for.
Chart backward_chart(const LayerTrace& trace, const ReductionPlan& plan);

}  // namespace ddpsim
