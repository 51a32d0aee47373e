#pragma once
// kernels/attention.yaml: what share of a GPU's peak each attention kernel reaches
// (docs/reference/gpu-model-software.md, "Attention kernels").
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/source.hpp"
#include "sim/compute/software.hpp"
#include "sim/text/gpu_entries.hpp"

namespace ddpsim {

std::vector<std::string> attention_kernels();

// What the software computes attention with: a kernel of the table, on a GPU by its name; "flash", whose
// share the software says itself; "unfused". Where the table has no such GPU for the kernel it is the last
// that it has. Throws InputError.
void take_kernel(Software& software, const Located& kernel, const GpuNames& gpu);

}  // namespace ddpsim
