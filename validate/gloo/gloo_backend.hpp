#pragma once
// PyTorch's ProcessGroupGloo as a CollectiveBackend: collectives over TCP between processes on CPUs. Compute
// is waited for, not computed, so that many ranks fit on few cores. One Gloo thread, so that all-reduces run
// one after another, as on a stream of NCCL's.
#include <memory>

#include "validate/gloo/gloo_group.hpp"
#include "validate/harness/collective_backend.hpp"

namespace ddpsim::validate {

std::unique_ptr<CollectiveBackend> make_gloo_backend(GlooGroup group);

}  // namespace ddpsim::validate
