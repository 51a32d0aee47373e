#include "sim/topology/import/amd_import.hpp"

#include <fmt/core.h>

namespace ddpsim {

void take_amd_gpu(const AmdGpu& gpu, std::string_view said_by, ImportedNode& node) {
  node.amd = gpu;
  if (!gpu.architecture) return;
  const auto& architecture = *gpu.architecture;
  node.nvlink = architecture.xgmi;
  node.nvlink_source =
      fmt::format("{} GB/s per link and direction ({}), of {} ({}).", architecture.xgmi.value() / 1e9,
                  architecture.source, gpu.board ? gpu.board->name : architecture.name, said_by);
  if (architecture.counted > 0)
    node.nvlink_source +=
        fmt::format(" RCCL's own search counts {} GB/s of them (src/graph/topo.h).", architecture.counted);
}

void check_is_nvidia(const TopologyImport& import, const SourceSpan& place) {
  if (!import.amd) return;
  throw InputError(place, "the GPUs here are NVIDIA's, and --gpu names one of AMD",
                   "name a generation of NVIDIA's, as --gpu hopper, or the right file");
}

void check_is_amd(const TopologyImport& import, const SourceSpan& place) {
  if (import.gpu)
    throw InputError(place, "the GPUs here are AMD's, and --gpu names a generation of NVIDIA's",
                     ask_for_amd_gpu());
  if (import.nvlinks)
    throw InputError(place, "--nvlinks is of NVIDIA's GPUs, and those here are AMD's",
                     "leave --nvlinks out: xGMI is what the file says");
}

}  // namespace ddpsim
