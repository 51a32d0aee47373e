#pragma once
// Whose share of a GPU's peak a job's compute reaches: workload.framework, workload.compute, and what is said
// of the attention kernel.
#include <vector>

#include "sim/base/note.hpp"
#include "sim/resolve/doubts.hpp"
#include "sim/resolve/files.hpp"

namespace ddpsim {

struct ChosenSoftware {
  Software software;
  WhoseSoftware whose = WhoseSoftware::named;
  bool names_kernel = false;  // of attention
};

// Throws InputError.
ChosenSoftware choose_software(Files& files, const GivenJob& given, const GpuDescription& gpu);

// What of it was measured, and how far off it was. `of_what`: where software was fitted to other than this.
std::vector<Note> software_notes(const ChosenSoftware& chosen, const GpuDescription& gpu, Precision precision,
                                 std::string_view of_what = {});

}  // namespace ddpsim
