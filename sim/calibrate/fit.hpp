#pragma once
// A calibration from measured tables: curves of all-reduces across nodes and over PCIe, lines of any
// operation inside an NVLink node.
#include <vector>

#include "sim/base/note.hpp"
#include "sim/calibrate/lines_fit.hpp"
#include "sim/calibrate/measurement.hpp"

namespace ddpsim::calibrate {

// The hint where tables and topology do not belong together.
inline constexpr const char* kOtherMachine =
    "is it the topology of the machine that was measured, are times in the unit they say, and are machines "
    "that are averaged alike?";

struct MachineFit {
  std::vector<nccl::Calibration::Entry> curves;
  std::vector<FittedLines> lines;
  std::vector<Note> notes = {};  // what was not fitted as usual
};

// Everything that some table of the machine informs, with `known` as prior where it has it. Throws InputError
// for a table that can only be judged.
MachineFit fit_machine(const std::vector<Measurement>& machine, const nccl::Calibration& known);

// The geometric mean of what several machines have of the same; nothing else can be said of a class of
// machines that differ.
nccl::Calibration average(const std::vector<MachineFit>& machines);

// `fitted`, and of `known` what nothing was fitted of.
nccl::Calibration with_rest_of(const nccl::Calibration& known, nccl::Calibration fitted);

// The rows of a table that one of the calibration's entries was fitted to.
std::vector<Point> points_of_curve(const Measurement& measurement, const nccl::Calibration::Entry& entry);
std::vector<Point> points_of_lines(const Measurement& measurement, const nccl::Calibration::NodeEntry& entry);
// Of any of them.
std::vector<Point> fitted_points(const Measurement& measurement, const nccl::Calibration& calibration);

}  // namespace ddpsim::calibrate
