#pragma once
// Joins the ranks of a run in a process group.
#include "validate/harness/rank_program.hpp"
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>

namespace ddpsim::validate {

struct GlooGroup {
  c10::intrusive_ptr<c10d::ProcessGroupGloo> process_group;
  Environment environment;
  bool prioritised = false;  // threads have real-time priority
};

// Takes this process's share of the machine's cores, and real-time priority where the system allows it:
// communication above compute, as a network card and its driver would be. Throws RunFailed when the others do
// not come in time.
GlooGroup join_gloo_group(const RankPlace& place, const Job& job);

}  // namespace ddpsim::validate
