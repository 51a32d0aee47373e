#include "validate/harness/step.hpp"

#include <algorithm>

namespace ddpsim::validate {

void Step::add(Operation operation, Range range, std::vector<std::size_t> after) {
  Op op;
  op.kind = Op::Kind::collective;
  op.activity = Activity::all_reduce;
  op.index = ranges.size();
  op.operation = operation;
  op.bytes = range.bytes();
  op.after = std::move(after);
  program.ops.push_back(std::move(op));
  ranges.push_back(range);
}

std::vector<const Op*> Step::collectives() const {
  std::vector<const Op*> collectives;
  for (const auto& op : program.ops)
    if (op.kind == Op::Kind::collective) collectives.push_back(&op);
  return collectives;
}

std::size_t Job::elements() const {
  std::size_t elements = 0;
  for (const auto& step : steps)
    for (const auto& range : step.ranges)
      if (!step.reduction) elements = std::max(elements, range.first + range.count);
  return elements;
}

}  // namespace ddpsim::validate
