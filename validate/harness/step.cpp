#include "validate/harness/step.hpp"

#include <algorithm>

namespace ddpsim::validate {

void Step::add_all_reduce(Range range) {
  Op op;
  op.kind = Op::Kind::collective;
  op.activity = Activity::all_reduce;
  op.index = ranges.size();
  op.bytes = range.bytes();
  program.ops.push_back(op);
  ranges.push_back(range);
}

std::size_t Job::elements() const {
  std::size_t elements = 0;
  for (const auto& step : steps)
    for (const auto& range : step.ranges)
      if (!step.reduction) elements = std::max(elements, range.first + range.count);
  return elements;
}

}  // namespace ddpsim::validate
