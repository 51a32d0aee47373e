#include "sim/topology/nccl_platform.hpp"

#include <fmt/core.h>

#include "sim/base/source.hpp"

namespace ddpsim {

void check_version(const NcclPlatform& platform) {
  if (platform.gpu == nccl::Gpu::blackwell && platform.version < nccl::Version::v2_27_6)
    throw InputError(fmt::format("NCCL {} does not know Blackwell", nccl::name(platform.version)),
                     "write version: \"2.27.6\" or newer");
}

}  // namespace ddpsim
