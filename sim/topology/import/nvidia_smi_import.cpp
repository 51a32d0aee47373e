#include <fmt/core.h>

#include "sim/topology/import/amd_import.hpp"
#include "sim/topology/import/matrix.hpp"
#include "sim/topology/import/socket_link.hpp"
#include "sim/topology/import/topology_writer.hpp"

namespace ddpsim {
namespace {

// The first cell with NVLinks; nullptr without any.
const Matrix::Cell* first_nvlinks(const Matrix& matrix) {
  for (const auto& cell : matrix.cells)
    if (cell.nvlinks > 0) return &cell;
  return nullptr;
}

int nvlinks_of(const Matrix& matrix, std::size_t gpu) {
  int links = 0;
  for (std::size_t other = 0; other < matrix.gpus; ++other) links += matrix.at(gpu, other).nvlinks;
  return links;
}

bool any_pair_without_nvlink(const Matrix& matrix) {
  for (std::size_t a = 0; a < matrix.gpus; ++a)
    for (std::size_t b = 0; b < a; ++b)
      if (matrix.at(a, b).nvlinks == 0) return true;
  return false;
}

bool all_pairs_alike(const Matrix& matrix) {
  for (std::size_t a = 0; a < matrix.gpus; ++a)
    for (std::size_t b = 0; b < a; ++b)
      if (matrix.at(a, b).nvlinks != matrix.at(1, 0).nvlinks) return false;
  return true;
}

// GPUs that have NVLinks to no other, where the others' are those of NVSwitches: all pairs of them alike.
// Empty: there is none, or the others are not so.
std::vector<std::size_t> off_nvswitches(const Matrix& matrix) {
  std::vector<std::size_t> off, on;
  for (std::size_t gpu = 0; gpu < matrix.gpus; ++gpu)
    (nvlinks_of(matrix, gpu) == 0 ? off : on).push_back(gpu);
  for (auto a : on)
    for (auto b : on)
      if (a != b && matrix.at(a, b).nvlinks != first_nvlinks(matrix)->nvlinks) return {};
  return off;
}

// NV# is what a pair has to share. Where a GPU would need more links than it has, the links of a GPU lead to
// NVSwitches, all of them to every other GPU.
void add_nvlinks(const Matrix& matrix, const nccl::GpuChip& gpu, ImportedNode& node) {
  for (std::size_t a = 0; a < matrix.gpus; ++a)
    if (int links = nvlinks_of(matrix, a); links > gpu.most_nvlinks) {
      const auto& first = *first_nvlinks(matrix);
      if (gpu.most_nvlinks == 0 || first.nvlinks > gpu.most_nvlinks)
        throw InputError(first.place,
                         gpu.most_nvlinks == 0 ? fmt::format("{} GPUs have no NVLink", gpu.name)
                                               : fmt::format("a GPU of {} has {} NVLinks, not {}", gpu.name,
                                                             gpu.most_nvlinks, first.nvlinks),
                         "is --gpu right?");
      auto off = off_nvswitches(matrix);
      if (off.empty() && !all_pairs_alike(matrix))
        throw InputError(
            matrix.devices[a].span,
            fmt::format("{} would need {} NVLinks, and a GPU of {} has {}; NVSwitches would join all "
                        "pairs alike",
                        matrix.devices[a].text, links, gpu.name, gpu.most_nvlinks),
            "is --gpu right?");
      node.to_nvswitch.assign(matrix.gpus, first.nvlinks);
      for (auto alone : off) {
        node.to_nvswitch[alone] = 0;
        node.notes.push_back(fmt::format(
            "{} has no NVLink, and all others have {} to NVSwitches: broken? It is joined by PCIe here",
            matrix.devices[alone].text, first.nvlinks));
      }
      node.multicast = gpu.multicast;
      return;
    }
  for (std::size_t a = 0; a < matrix.gpus; ++a)
    for (std::size_t b = a + 1; b < matrix.gpus; ++b)
      if (int links = matrix.at(a, b).nvlinks; links > 0)
        node.nvlinks.push_back({static_cast<int>(a), static_cast<int>(b), links});
}

}  // namespace

ImportedTopology import_nvidia_smi(const TopologyImport& import) {
  auto matrix = read_matrix(import.path);
  check_is_nvidia(import, matrix.devices[0].span);
  if (import.nvlinks)
    throw InputError(matrix.devices[0].span, "--nvlinks is for NCCL's XML: the matrix says NV# itself",
                     "leave --nvlinks out");
  ImportedNode node;
  const auto* nvlinks = first_nvlinks(matrix);
  if (nvlinks && !import.gpu)
    throw InputError(nvlinks->place,
                     "how fast are these NVLinks? The matrix does not say which GPUs these are",
                     ask_for_gpu());
  if (nvlinks) {
    const auto& gpu = nccl::chip_of(*import.gpu);
    node.nvlink = gpu.nvlink;
    node.nvlink_source = fmt::format("{} GB/s per link and direction, as NVIDIA says of {} (--gpu).",
                                     gpu.nvlink.value() / 1e9, gpu.name);
    add_nvlinks(matrix, gpu, node);
  }
  bool needs_pcie = any_pair_without_nvlink(matrix);
  if (needs_pcie && !import.gpu && !import.pcie_generation)
    throw InputError(matrix.devices[0].span, "which generation of PCIe? The matrix does not say",
                     "say --pcie-generation 4, or --gpu ampere for what that GPU has");
  int of_gpu = import.gpu ? nccl::chip_of(*import.gpu).pcie_generation : 1;
  int generation = import.pcie_generation.value_or(of_gpu);
  auto pcie = pcie_bandwidth(generation, 16);
  node.pcie_source = fmt::format(
      "{} GB/s per direction, as NCCL counts generation {} x16 (kvDictPciGen in src/graph/topo.cc){}.",
      pcie.value() / 1e9, generation,
      import.pcie_generation ? "; 16 lanes are an assumption"
                             : "; generation and lanes are assumptions: the matrix says neither");
  bool known = import.gpu || import.pcie_generation;
  bool assumed = add_pcie_tree(matrix, known ? pcie : BytesPerSecond(), node);
  if (needs_pcie && assumed)
    node.notes.push_back(
        "where NVLink hides how GPUs are joined by PCIe, and nothing else speaks against it, they "
        "are below one host bridge here: an assumption");
  add_socket_link(node, import, std::nullopt, "the matrix");
  node.gpu = import.gpu;
  node.gpu_file = import.gpu_file;
  node.cpu = import.cpu;
  node.finish();
  return write_topology(node, import, "nvidia-smi topo -m");
}

}  // namespace ddpsim
