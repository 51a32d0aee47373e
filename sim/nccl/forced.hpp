#pragma once
// What stands against an algorithm or a protocol that NCCL is forced to (NCCL_ALGO, NCCL_PROTO).
#include <optional>
#include <string>

#include "sim/nccl/communicator.hpp"

namespace ddpsim::nccl {

inline bool forces(const Allowed& allowed) {
  return !allowed.algorithms.empty() || !allowed.protocols.empty();
}

struct Refusal {
  std::string message, hint;
  bool is_of_operation = false;  // others may do it
};
// Of one algorithm, one protocol or both, and an operation that NCCL tunes; nullopt where that is possible.
std::optional<Refusal> refusal_of(const Communicator& communicator, const Allowed& allowed,
                                  Operation operation);

}  // namespace ddpsim::nccl
