// NCCL's and RCCL's XML, the matrix of nvidia-smi, the tables of rocm-smi and Slurm's switches, and that the
// topology files made of them are read.
#include "sim/text/topology_file.hpp"
#include "sim/topology/import/slurm_topology.hpp"
#include "sim/topology/import/topology_import.hpp"

#include "tests/fuzz/fuzzed_text.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace ddpsim;
  using namespace ddpsim::fuzzing;
  const auto text = view_of(bytes, size);
  const AmdGpu amd{&architecture_of(kAmdBoards.front()), &kAmdBoards.front()};
  for (auto* import : {import_nccl_xml, import_nvidia_smi, import_rocm_smi}) {
    std::string yaml;
    // An XML of AMD says itself which GPUs they are.
    bool is_amd = import == import_rocm_smi || text.find("gcn=") != std::string_view::npos;
    expect_answer([&] {
      const FuzzedFile file(text);
      yaml = import({.path = file.path(),
                     .gpu = is_amd ? std::nullopt : std::optional(nccl::Gpu::hopper),
                     .amd = import == import_rocm_smi ? std::optional(amd) : std::nullopt,
                     .nvlinks = {},
                     .pcie_generation = 5,
                     .cpu = HostCpu::amd,
                     .socket_bandwidth = {},
                     .nic_bandwidth = BytesPerSecond(50e9)})
                 .yaml;
    });
    if (!yaml.empty()) read_topology(FuzzedFile(yaml).path());
  }
  expect_answer([&] { read_slurm_topology(FuzzedFile(text).path()); });
  return 0;
}
