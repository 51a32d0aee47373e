#pragma once
// The matrix of `nvidia-smi topo -p2p r`: between which GPUs the driver has peer-to-peer.
#include <cstddef>
#include <string>

namespace ddpsim {

// Whether all pairs of as many GPUs may read one another's memory. Throws InputError, with a place, for a row
// that is missing or cut off, cells that nvidia-smi does not print, and GPUs that allow it between some pairs
// only.
bool reads_peers(const std::string& path, std::size_t gpus);

}  // namespace ddpsim
