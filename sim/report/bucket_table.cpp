#include "sim/report/bucket_table.hpp"

#include <ostream>

#include <fmt/core.h>

#include "sim/base/quantity.hpp"

namespace ddpsim {

std::string describe_buckets(const ReductionPlan& plan) {
  auto text = fmt::format("{} bucket{}", plan.buckets.size(), plan.buckets.size() == 1 ? "" : "s");
  if (plan.bucket_cap) text += fmt::format(", bucket cap {}", format_bytes(*plan.bucket_cap));
  if (plan.first_bucket_cap) text += fmt::format(" (first {})", format_bytes(*plan.first_bucket_cap));
  return text;
}

void print_bucket_table(std::ostream& out, const LayerTrace& trace, const ReductionPlan& plan) {
  out << fmt::format("\n{}, times in ms from the start of the backward pass\n", describe_buckets(plan));
  out << fmt::format("{:>6} {:>11} {:>10} {:>12}\n", "bucket", "MiB", "gradients", "complete");
  auto complete = bucket_ready_times(trace, plan);
  for (std::size_t i = 0; i < plan.buckets.size(); ++i)
    out << fmt::format("{:>6} {:>11.4f} {:>10} {:>12.3f}\n", i, plan.buckets[i].bytes.value() / 1048576,
                       plan.buckets[i].gradients.size(), complete[i].value() * 1e3);
}

}  // namespace ddpsim
