#pragma once
// Measured tables of collectives together with what NCCL sees of the machine they were measured on.
#include <optional>
#include <string>
#include <vector>

#include "sim/calibrate/measurement.hpp"
#include "sim/topology/topology.hpp"

namespace ddpsim::cli {

// How to understand tables.
struct MeasuredOptions {
  std::optional<int> world_size;       // of tables that do not say
  std::optional<Operation> operation;  // the same
  nccl::Allowed allowed;               // what NCCL was left to choose from
  Seconds per_call = {};               // that the harness adds to every row
};

// The tables that `selection` names: FILE, or FILE@GPUS, FILE@GPUS/TYPE or FILE@GPUS/TYPE/OPERATION for some
// of a file's tables, such as nccl.csv@2+4/half/all_gather. Throws InputError where a table does not fit the
// topology.
std::vector<calibrate::Measurement> load_measured(const std::string& selection, const Topology& topology,
                                                  const MeasuredOptions& options);

// The same table with every other of its rows that are not too small: the first, third ... or the others.
calibrate::Measurement every_other(calibrate::Measurement measurement, bool first);

}  // namespace ddpsim::cli
