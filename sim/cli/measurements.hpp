#pragma once
// Measured all-reduce tables together with what NCCL's model says of the machine they were measured on.
#include <optional>
#include <string>
#include <vector>

#include "sim/calibrate/fit.hpp"
#include "sim/calibrate/judge.hpp"
#include "sim/nccl/cost_model.hpp"
#include "sim/topology/topology.hpp"

namespace ddpsim::cli {

struct Measured {
  calibrate::Measurement measurement;
  nccl::Communicator communicator;
  nccl::Allowed allowed;
};

// How to understand tables.
struct MeasuredOptions {
  std::optional<int> world_size;  // of tables that do not say
  nccl::Allowed allowed;          // what NCCL was left to choose from
};

// The tables that `selection` names: FILE, or FILE@GPUS or FILE@GPUS/TYPE for some of a file's tables, such
// as nccl.csv@2+4/half. Throws InputError where a table does not fit the topology.
std::vector<Measured> load_measured(const std::string& selection, const Topology& topology,
                                    const MeasuredOptions& options);

// With the curves of `calibration`, or the tuner's own times where it has none.
calibrate::Judgement judge_with(const nccl::Calibration& calibration, const Measured& measured);

// The same table with every other of its rows that are large enough to be fitted: the first, third ... or the
// others.
Measured every_other(const Measured& measured, bool first);

}  // namespace ddpsim::cli
