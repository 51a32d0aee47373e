#pragma once
// What to tell the user of NCCL's model of a group of GPUs.
#include <string>
#include <vector>

#include "sim/base/note.hpp"
#include "sim/nccl/calibration.hpp"

namespace ddpsim {

// Of a communicator: that it fell back to that ring, that its GPUs came after that release of
// NCCL, that nobody measured its PCIe or its NVLink, or a network that reduces.
std::vector<Note> nccl_notes(const nccl::Communicator& communicator, const nccl::Allowed& allowed,
                             const nccl::Calibration& calibration);

// What its messages go over within a node and between nodes, and why: phrases, none of one GPU.
std::vector<std::string> transports_of(const nccl::Communicator& communicator);

}  // namespace ddpsim
