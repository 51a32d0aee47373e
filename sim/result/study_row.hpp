#pragma once
// What a file of a study's results has: a line of JSON about the study, and one a finished point
// (docs/reference/results.md, "Results of a study").
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/base/source.hpp"
#include "sim/result/columns.hpp"
#include "sim/result/metrics.hpp"

namespace ddpsim {

inline constexpr std::size_t kMostStudyPoints = 1'000'000'000;

struct StudyHead {
  std::string study;       // what tells it from others
  std::size_t points = 0;  // of its grid
  std::vector<std::string> axes;
  bool all_columns = false;  // rows have all that a sweep's JSON has of a point
  bool operator==(const StudyHead&) const = default;
};
// With the line end.
std::string study_line(const StudyHead& head);
// Throws InputError at the place of the line for one that is no such line.
StudyHead read_study_line(std::string_view line, const SourceSpan& place = {});

struct StudyPoint {
  std::size_t number = 0;           // in the study's grid
  std::string key;                  // its job's
  std::vector<std::string> values;  // one an axis, as written
};

// Who was at fault: the input, the machine, whose memory or processes may be there next time, or ddpsim.
enum class PointFailure { input, machine, defect };
std::string_view failure_name(PointFailure failure);

// With the line end.
std::string study_row(const StudyPoint& point, const IterationMetrics& metrics, bool all_columns = false);
std::string study_row(const StudyPoint& point, PointFailure failure, std::string_view message);

// All that a row says of its point: times as such, bytes as such.
struct StudyRow {
  std::size_t point = 0;
  std::vector<std::string> values;                    // one an axis
  std::vector<std::pair<std::string, Cell>> figures;  // without lists and what has figures of its own
  std::string error;                                  // empty: it has results

  // None: the row does not say it.
  [[nodiscard]] Cell figure(std::string_view key) const;
};
// Of a line that read_study_row() takes.
StudyRow read_whole_study_row(std::string_view line);

// What a row says of its point, and who was at fault where it failed.
struct StudyRowHead {
  std::size_t number = 0;
  std::size_t values = 0;  // of axes
  std::optional<PointFailure> failure;
};
// Throws InputError at the place of the line, or where in it, for one that is no JSON or no such row.
StudyRowHead read_study_row(std::string_view line, const SourceSpan& place = {});
// The same for one that the study has no such point or other axes of.
StudyRowHead read_study_row(std::string_view line, const StudyHead& study, const SourceSpan& place);

}  // namespace ddpsim
