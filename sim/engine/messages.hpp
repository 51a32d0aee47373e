#pragma once
#include <vector>

#include "sim/base/operation.hpp"
#include "sim/base/units.hpp"

namespace ddpsim {

struct Scenario;

// One collective of a step, as nccl-tests counts its bytes.
struct Message {
  Operation operation{};
  Bytes bytes;
};

// What a step communicates, in launch order; broadcasts of buffers come last.
std::vector<Message> messages_of(const Scenario& scenario);

}  // namespace ddpsim
