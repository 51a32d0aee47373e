#pragma once
// The rows of a study on disk, one line of JSON a point behind the study's own, appended as points finish:
// whoever is killed loses the points in flight.
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/descriptor.hpp"
#include "sim/base/note.hpp"
#include "sim/result/study_row.hpp"

namespace ddpsim {

// The row of a point that counts.
struct KeptRow {
  enum class State : char { none, done, failed, lost };  // lost: the machine made it fail
  State state = State::none;
  std::uint32_t file = 0;  // which of several
  std::int64_t offset = 0;
};

class ResultsFile {
 public:
  // Of that study. With `resume` a file may be there: its rows count as finished, but for those that the
  // machine made fail, and a last line without its end, which was being written when the writer was killed,
  // is cut, with a note. Throws InputError where a file is there that may not, or has rows of another study,
  // damaged ones or two results of a point, or another process writes to it, and where none can be made.
  ResultsFile(std::string path, bool resume, StudyHead study);

  // Whether the point is finished.
  [[nodiscard]] bool has(std::size_t point) const {
    return rows_[point].state == KeptRow::State::done || rows_[point].state == KeptRow::State::failed;
  }
  [[nodiscard]] std::size_t rows() const;
  [[nodiscard]] std::size_t failed() const;
  [[nodiscard]] const std::vector<Note>& notes() const { return notes_; }
  // Whole rows, at once. Throws EnvironmentError where the disk refuses.
  void append(std::string_view rows);
  // Puts the rows in the order of their points, where they are not.
  void finish();

 private:
  void open(bool resume);
  void read_rows();

  std::string path_;
  StudyHead study_;
  Descriptor file_;
  std::vector<KeptRow> rows_;  // by point
  std::vector<Note> notes_;
  std::int64_t end_ = 0;
  std::size_t next_ = 0;  // the least point that may come next while rows are in order
  bool in_order_ = true;  // each point once, ascending
};

// Each whole row of a file, in its order. Returns notes. Throws InputError for a
// file that is not a study's, and damaged rows.
struct ResultsVisitor {
  std::function<void(const StudyHead& study)> head;
  std::function<void(const StudyRow& row)> row;
};
std::vector<Note> visit_results(const std::string& path, const ResultsVisitor& visit);

struct MergedRows {
  std::size_t rows = 0, points = 0, failed = 0;  // of how many points there are
  std::vector<Note> notes;
};
// Rows of several files of one study as a new file, in the order of their points; of several rows of a point
// one that did not fail. Throws InputError for rows of different studies, damaged ones and two results of a
// point.
MergedRows merge_results(const std::vector<std::string>& files, const std::string& to);

}  // namespace ddpsim
