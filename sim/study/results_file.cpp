#include "sim/study/results_file.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>

#include <fmt/core.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "sim/base/check.hpp"
#include "sim/base/counted.hpp"
#include "sim/base/environment_error.hpp"
#include "sim/base/input_file.hpp"
#include "sim/base/output_file.hpp"

namespace ddpsim {
namespace {

using State = KeptRow::State;

constexpr const char* kDiskHint = "is the disk full?";
constexpr std::size_t kBlock = std::size_t{1} << 16;

// What a file that may be written to meanwhile holds from there on, a block at most; nothing at its end.
std::string_view block_at(int file, std::int64_t offset, std::string& room, const std::string& path) {
  for (room.resize(kBlock);;) {
    auto got = pread(file, room.data(), room.size(), offset);
    if (got >= 0) return {room.data(), static_cast<std::size_t>(got)};
    if (errno != EINTR)
      throw EnvironmentError(fmt::format("cannot read '{}': {}", path, std::strerror(errno)),
                             "is it a file, and the disk sound?");
  }
}

// The lines of a file that end, with where they begin.
class Lines {
 public:
  Lines(int file, std::string path) : file_(file), path_(std::move(path)) {}

  // The next one, without its end; none at the end, or of what was not written to its end: a last line
  // without one, or NULs up to the end of the file.
  std::optional<std::string_view> next() {
    line_.clear();
    offset_ = end_;
    for (;;) {
      if (rest_.empty()) rest_ = block_at(file_, offset_ + length(), block_, path_);
      if (rest_.empty()) return std::nullopt;
      auto end = rest_.find('\n');
      line_ += rest_.substr(0, end);
      rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 1);
      if (end != std::string_view::npos) break;
    }
    if (line_.find('\0') != std::string::npos && ends_in_nuls()) return std::nullopt;
    end_ += length() + 1;
    ++number_;
    return line_;
  }
  [[nodiscard]] std::int64_t offset() const { return offset_; }
  [[nodiscard]] std::int64_t end() const { return end_; }  // of the lines so far
  [[nodiscard]] SourceSpan place() const { return {make_source(path_, ""), number_, 1, 1}; }

  // Behind the last line. `what` became of that: "cut".
  [[nodiscard]] std::optional<Note> note_of_rest(std::string_view what) const {
    std::int64_t bytes = 0;
    bool has_nuls = line_.find('\0') != std::string::npos;
    std::string room;
    for (;;) {
      auto block = block_at(file_, end_ + bytes, room, path_);
      if (block.empty()) break;
      bytes += static_cast<std::int64_t>(block.size());
    }
    if (bytes == 0) return std::nullopt;
    return Note{"results-cut",
                fmt::format("the last {} of {} {} no whole row{}: {}", counted(bytes, "byte"), path_,
                            bytes == 1 ? "is" : "are",
                            has_nuls ? " but NULs, as after a crash of the machine" : "", what)};
  }

 private:
  [[nodiscard]] std::int64_t length() const { return static_cast<std::int64_t>(line_.size()); }

  // Whether nothing else follows the first NUL of this line.
  [[nodiscard]] bool ends_in_nuls() const {
    std::string room;
    for (auto at = offset_ + static_cast<std::int64_t>(line_.find('\0'));;) {
      auto block = block_at(file_, at, room, path_);
      if (block.empty()) return true;
      if (block.find_first_not_of(std::string_view("\0\n", 2)) != std::string_view::npos) return false;
      at += static_cast<std::int64_t>(block.size());
    }
  }

  int file_;
  std::string path_, block_, line_;
  std::string_view rest_;  // of the block
  std::int64_t offset_ = 0, end_ = 0;
  int number_ = 0;
};

// The row that begins there, with its end.
std::string row_at(int file, std::int64_t offset, const std::string& path) {
  std::string row, room;
  for (;;) {
    auto block = block_at(file, offset + static_cast<std::int64_t>(row.size()), room, path);
    auto end = block.find('\n');
    row += block.substr(0, end == std::string_view::npos ? end : end + 1);
    if (end != std::string_view::npos) return row;
    if (block.empty())
      throw EnvironmentError(fmt::format("'{}' has become shorter while it was read", path),
                             "let one process write to it");
  }
}

int line_number_at(int file, std::int64_t offset, const std::string& path) {
  Lines lines(file, path);
  int number = 1;
  while (lines.end() < offset && lines.next()) ++number;
  return number;
}

State state_of(const StudyRowHead& row) {
  if (!row.failure) return State::done;
  return *row.failure == PointFailure::machine ? State::lost : State::failed;
}

// A file that rows are read from.
struct RowsOf {
  int file;
  std::string path;
};

// Whether the row of `lines` takes the place of the one that is known. Two results of a point must be the
// same.
bool counts(const KeptRow& known, State state, std::string_view line, std::size_t point, const Lines& lines,
            const RowsOf& before) {
  if (known.state != State::done || state != State::done)
    return known.state == State::none || known.state == State::lost ||
           (known.state == State::failed && state == State::done);
  auto first = row_at(before.file, known.offset, before.path);
  first.pop_back();
  if (first != line)
    throw InputError(lines.place(),
                     fmt::format("point {} has another result here than at {}:{}", point, before.path,
                                 line_number_at(before.file, known.offset, before.path)),
                     "equal points give equal rows: one of the two was changed or damaged; remove it");
  return false;
}

void write_all(int file, std::string_view text, const std::string& path) {
  while (!text.empty()) {
    auto written = write(file, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0)
      throw EnvironmentError(fmt::format("cannot write '{}': {}", path, std::strerror(errno)), kDiskHint);
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

// The rows that count, in the order of their points, as a file that then takes the name.
std::size_t write_in_order(const StudyHead& study, const std::vector<KeptRow>& rows,
                           const std::vector<RowsOf>& from, const std::string& to) {
  WholeFile file(to);
  auto text = study_line(study);
  std::size_t written = 0;
  for (const auto& row : rows) {
    if (row.state == State::none) continue;
    text += row_at(from[row.file].file, row.offset, from[row.file].path);
    ++written;
    if (text.size() < 16 * kBlock) continue;
    file.append(text);
    text.clear();
  }
  file.append(text);
  file.finish();
  return written;
}

}  // namespace

ResultsFile::ResultsFile(std::string path, bool resume, StudyHead study)
    : path_(std::move(path)), study_(std::move(study)), rows_(study_.points) {
  check_writable(path_, "results");
  open(resume);
  if (resume) read_rows();
  if (end_ > 0) return;
  auto line = study_line(study_);
  write_all(file_.get(), line, path_);
  end_ = static_cast<std::int64_t>(line.size());
}

void ResultsFile::open(bool resume) {
  file_ = Descriptor(::open(path_.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666));
  struct stat status {};
  if (!file_ || fstat(file_.get(), &status) != 0)
    throw InputError(fmt::format("cannot write '{}': {}", path_, std::strerror(errno)),
                     "check the folder and its permissions");
  if (flock(file_.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
    throw InputError(fmt::format("another process writes to '{}'", path_),
                     "give each shard a file of its own; 'ddpsim results merge' joins them");
  if (status.st_size > 0 && !resume)
    throw InputError(fmt::format("'{}' has results already", path_),
                     "go on with them (--resume, resume=True), or name another file");
}

void ResultsFile::read_rows() {
  Lines lines(file_.get(), path_);
  auto first = lines.next();
  if (!first) {
    std::string room;
    std::string begun(block_at(file_.get(), 0, room, path_));
    auto nuls = std::min(begun.find('\0'), begun.size());
    bool ends_in_nuls = begun.find_first_not_of(std::string_view("\0\n", 2), nuls) == std::string::npos;
    if (!ends_in_nuls || !study_line(study_).starts_with(begun.substr(0, nuls)))
      read_study_line(begun, lines.place());  // which throws
  }
  if (first)
    if (auto found = read_study_line(*first, lines.place()); found != study_) {
      found.all_columns = study_.all_columns;
      if (found == study_)
        throw InputError(lines.place(), "its rows have other columns",
                         study_.all_columns ? "leave out --all-columns (all_columns=True)"
                                            : "say --all-columns (all_columns=True) as it was begun");
      throw InputError(lines.place(), "these are results of another study, or its scenario has changed",
                       "name another file");
    }
  while (auto line = lines.next()) {
    auto head = read_study_row(*line, study_, lines.place());
    auto& known = rows_[head.number];
    in_order_ = in_order_ && head.number >= next_;
    next_ = head.number + 1;
    if (counts(known, state_of(head), *line, head.number, lines, {file_.get(), path_}))
      known = {state_of(head), 0, lines.offset()};
  }
  end_ = lines.end();
  if (auto note = lines.note_of_rest("cut, and what is missing runs again"))
    notes_.push_back(*std::move(note));
  if (ftruncate(file_.get(), end_) != 0)
    throw EnvironmentError(fmt::format("cannot write '{}': {}", path_, std::strerror(errno)), kDiskHint);
}

void ResultsFile::append(std::string_view rows) {
  write_all(file_.get(), rows, path_);
  while (!rows.empty()) {
    auto length = rows.find('\n') + 1;
    auto head = read_study_row(rows.substr(0, length));
    DDPSIM_CHECK(head.number < rows_.size(), "rows are of this study");
    in_order_ = in_order_ && head.number >= next_;
    next_ = head.number + 1;
    rows_[head.number] = {state_of(head), 0, end_};
    end_ += static_cast<std::int64_t>(length);
    rows.remove_prefix(length);
  }
}

std::size_t ResultsFile::rows() const {
  return rows_.size() - static_cast<std::size_t>(std::ranges::count(rows_, State::none, &KeptRow::state));
}

std::size_t ResultsFile::failed() const {
  return rows() - static_cast<std::size_t>(std::ranges::count(rows_, State::done, &KeptRow::state));
}

void ResultsFile::finish() {
  if (!in_order_) write_in_order(study_, rows_, {{file_.get(), path_}}, path_);
}

std::vector<Note> visit_results(const std::string& path, const ResultsVisitor& visit) {
  auto opened = open_input(path, "the results of a study");
  Lines lines(opened.get(), path);
  auto first = lines.next();
  if (!first) throw InputError(lines.place(), "there is no row", "name what 'ddpsim sweep --results' wrote");
  auto study = read_study_line(*first, lines.place());
  visit.head(study);
  std::vector<bool> is_done(study.points);
  while (auto line = lines.next()) {
    auto head = read_study_row(*line, study, lines.place());
    if (is_done[head.number])
      throw InputError(lines.place(), fmt::format("point {} has a result before", head.number),
                       "'ddpsim results merge' makes a file with one of each");
    is_done[head.number] = state_of(head) == State::done;
    visit.row(read_whole_study_row(*line));
  }
  auto note = lines.note_of_rest("left out");
  return note ? std::vector{*std::move(note)} : std::vector<Note>();
}

MergedRows merge_results(const std::vector<std::string>& files, const std::string& to) {
  std::vector<KeptRow> rows;  // by point
  std::vector<Descriptor> opened;
  std::vector<RowsOf> from;
  std::optional<StudyHead> study;
  MergedRows merged;
  for (const auto& path : files) {
    opened.push_back(open_input(path, "the results of a study"));
    from.push_back({opened.back().get(), path});
    Lines lines(from.back().file, path);
    if (auto line = lines.next()) {
      auto found = read_study_line(*line, lines.place());
      if (!study) rows.resize(found.points);
      if (study.value_or(found) != found)
        throw InputError(lines.place(),
                         "these are results of another study than those before them, or have other columns",
                         "merge the shards of one study");
      study = std::move(found);
    }
    while (auto line = lines.next()) {
      auto head = read_study_row(*line, *study, lines.place());
      auto& known = rows[head.number];
      if (counts(known, state_of(head), *line, head.number, lines, from[known.file]))
        known = {state_of(head), static_cast<std::uint32_t>(from.size() - 1), lines.offset()};
    }
    if (auto note = lines.note_of_rest("left out")) merged.notes.push_back(*std::move(note));
  }
  if (!study) throw InputError("there is no row to merge", "name what 'ddpsim sweep --results' wrote");
  merged.rows = write_in_order(*study, rows, from, to);
  merged.points = rows.size();
  merged.failed =
      merged.rows - static_cast<std::size_t>(std::ranges::count(rows, State::done, &KeptRow::state));
  return merged;
}

}  // namespace ddpsim
