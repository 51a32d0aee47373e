#pragma once
// Whether a real run reduced and gathered what data-parallel training must: else its times mean nothing.
#include <span>
#include <string_view>
#include <vector>

#include "validate/harness/collective_backend.hpp"

namespace ddpsim::validate {

// What tells one sequence of values from another, in two numbers.
std::vector<double> digest(std::span<const float> values);

// Throws RunFailed unless all ranks call it with the same digests; `what` is what they are of: "parameters".
void require_equal_on_all_ranks(CollectiveBackend& backend, const std::vector<double>& digests,
                                std::string_view what);

// The parameters of a model as every rank has them, beside a backend whose buffer holds what is communicated.
class Replica {
 public:
  // Starts with other parameters on every rank, takes rank 0's as DistributedDataParallel does when it is
  // built, and makes sure that all have the same.
  Replica(CollectiveBackend& backend, std::size_t elements);

  // Writes gradients that differ between ranks, each divided by the world size as DistributedDataParallel
  // does before it sums them; of what is gathered the rank's own part. `round` makes others.
  void fill(const Step& step, unsigned round);
  // Throws RunFailed unless the ranges hold the average of what all ranks wrote, a rank's own part of it
  // where it is scattered, and every rank's part where it is gathered; then steps the parameters by what all
  // ranks have of it and zeroes the ranges.
  void check(const Step& step, unsigned round);
  // Throws RunFailed unless all ranks have the same parameters.
  void require_equal();

 private:
  CollectiveBackend& backend_;
  std::vector<float> parameters_;
};

}  // namespace ddpsim::validate
