#pragma once
// A finished point of a study as a line of JSON (docs/formats.md, "Results of a study").
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/source.hpp"
#include "sim/report/metrics.hpp"

namespace ddpsim {

struct StudyPoint {
  std::size_t number = 0, of = 0;  // in the study's grid, and how many there are
  std::string study;               // what tells it from others
  std::string key;                 // its job's
  std::vector<std::string> axes, values;
};

// Who was at fault: the input, the machine, whose memory or processes may be there next time, or ddpsim.
enum class PointFailure { input, machine, defect };
std::string_view failure_name(PointFailure failure);

// With the line end.
std::string study_row(const StudyPoint& point, const IterationMetrics& metrics);
std::string study_row(const StudyPoint& point, PointFailure failure, std::string_view message);

// What a row says of its point, and who was at fault where it failed.
struct StudyRowHead {
  std::size_t number = 0, of = 0;
  std::string study;
  std::optional<PointFailure> failure;
};
// Throws InputError at the place of the line, or where in it, for one that is no JSON or no such row.
StudyRowHead read_study_row(std::string_view line, const SourceSpan& place = {});

}  // namespace ddpsim
