#pragma once
// `sweep --results`: points are run and kept one by one, so that a sweep may be of any size, stop anywhere
// and be dealt out to many machines.
#include <string>

#include "sim/cli/scenario_options.hpp"

namespace ddpsim::cli {

struct StudyOptions {
  std::string results;  // a path; empty: none
  bool resume = false, all_columns = false;
  std::string shard;  // "2/8"; empty: all

  void add_to(Command& command);
};

void run_study(const ScenarioOptions& scenario, const StudyOptions& options, unsigned jobs);

}  // namespace ddpsim::cli
