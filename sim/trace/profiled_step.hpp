#pragma once
// What somebody's profiler saw of one training step on one rank: the collectives it launched and the
// operators it called.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/units.hpp"

namespace ddpsim {

struct ProfiledCollective {
  std::string operation;                 // as recordings name it: "all_reduce", "send"
  std::optional<std::int64_t> elements;  // as nccl-tests counts them
  std::optional<std::int64_t> ranks;     // of its group
  bool operator==(const ProfiledCollective&) const = default;
};

struct ProfiledOperator {
  std::string name;                   // as recordings name it: "mm", "fsdp::chunk_cat"
  std::optional<std::size_t> within;  // the operator that called it, an earlier one
  Seconds on_gpu;                     // of the kernels that it launched itself, and copies
};

struct ProfiledStep {
  std::vector<ProfiledCollective> collectives;  // in the host's order
  std::vector<ProfiledOperator> operators;      // likewise
  bool has_kernels = false;                     // a GPU's
};

}  // namespace ddpsim
