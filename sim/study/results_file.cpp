#include "sim/study/results_file.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>

#include <fmt/core.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "sim/base/check.hpp"
#include "sim/base/environment_error.hpp"
#include "sim/base/output_file.hpp"
#include "sim/base/source.hpp"

namespace ddpsim {
namespace {

constexpr const char* kDiskHint = "is the disk full?";

// The lines of a file that end, with where they begin.
class Lines {
 public:
  explicit Lines(const std::string& path) : path_(path), file_(std::fopen(path.c_str(), "re")) {
    if (!file_)
      throw InputError(whole_file(make_source(path, "")),
                       fmt::format("cannot be read: {}", std::strerror(errno)), "check the path");
  }
  Lines(const Lines&) = delete;
  Lines& operator=(const Lines&) = delete;
  ~Lines() { std::free(line_); }

  // The next one, without its end; none at the end, or of a last line that does not end.
  std::optional<std::string_view> next() {
    offset_ = end_;
    auto length = getline(&line_, &room_, file_.get());
    if (std::ferror(file_.get()) != 0)
      throw EnvironmentError(fmt::format("cannot read '{}': {}", path_, std::strerror(errno)),
                             "is it a file, and the disk sound?");
    if (length <= 0 || line_[length - 1] != '\n') return std::nullopt;
    end_ += length;
    ++number_;
    return std::string_view(line_, static_cast<std::size_t>(length) - 1);
  }
  [[nodiscard]] std::int64_t offset() const { return offset_; }
  [[nodiscard]] std::int64_t end() const { return end_; }  // of the lines so far
  [[nodiscard]] SourceSpan place() const { return {make_source(path_, ""), number_, 1, 1}; }

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  std::string path_;
  std::unique_ptr<std::FILE, Close> file_;
  char* line_ = nullptr;
  std::size_t room_ = 0;
  std::int64_t offset_ = 0, end_ = 0;
  int number_ = 0;
};

StudyRowHead head_of(std::string_view line, const Lines& lines) {
  auto head = read_study_row(line);
  if (!head) throw InputError(lines.place(), "this is no row of a study's results", "is it the right file?");
  return *std::move(head);
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

// Rows, by where they are, one after the other into a new file that then takes the name.
class OrderedCopy {
 public:
  explicit OrderedCopy(std::string to) : to_(std::move(to)), temporary_(to_ + ".tmp") {
    check_writable(to_, "results");
    file_ = Descriptor(open(temporary_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
    if (!file_) fail();
  }
  ~OrderedCopy() {
    if (file_) unlink(temporary_.c_str());
  }
  OrderedCopy(const OrderedCopy&) = delete;
  OrderedCopy& operator=(const OrderedCopy&) = delete;

  void add(int from, std::int64_t offset) {
    for (;;) {
      auto got = pread(from, block_.data(), block_.size(), offset);
      if (got <= 0) fail();
      std::string_view part(block_.data(), static_cast<std::size_t>(got));
      auto end = part.find('\n');
      text_ += part.substr(0, end == std::string_view::npos ? end : end + 1);
      if (end != std::string_view::npos) break;
      offset += got;
    }
    if (text_.size() > block_.size() * 16) flush();
  }
  void finish() {
    flush();
    if (fsync(file_.get()) != 0 || std::rename(temporary_.c_str(), to_.c_str()) != 0) fail();
    file_.reset();
  }

 private:
  void flush() {
    write_all(file_.get(), text_, to_);
    text_.clear();
  }
  [[noreturn]] void fail() const {
    throw EnvironmentError(fmt::format("cannot write '{}': {}", to_, std::strerror(errno)), kDiskHint);
  }

  std::string to_, temporary_, text_;
  std::string block_ = std::string(std::size_t{1} << 14, '\0');
  Descriptor file_;
};

}  // namespace

ResultsFile::ResultsFile(std::string path, bool resume, const std::string& study, std::size_t points)
    : path_(std::move(path)), states_(points), offsets_(points) {
  check_writable(path_, "results");
  open(resume);
  if (resume) read_rows(study);
}

void ResultsFile::open(bool resume) {
  file_ = Descriptor(::open(path_.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666));
  struct stat status {};
  if (!file_ || fstat(file_.get(), &status) != 0)
    throw InputError(fmt::format("cannot write '{}': {}", path_, std::strerror(errno)),
                     "check the folder and its permissions");
  if (flock(file_.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
    throw InputError(fmt::format("another process writes to '{}'", path_),
                     "give each shard a file of its own; 'ddpsim merge' joins them");
  if (status.st_size > 0 && !resume)
    throw InputError(fmt::format("'{}' has results already", path_),
                     "go on with them (--resume, resume=True), or name another file");
}

void ResultsFile::read_rows(const std::string& study) {
  Lines lines(path_);
  while (auto line = lines.next()) {
    auto head = head_of(*line, lines);
    if (head.of != offsets_.size() || head.study != study)
      throw InputError(lines.place(), "this row is of another study, or its scenario has changed",
                       "name another file");
    add(head, lines.offset());
  }
  end_ = lines.end();
  if (ftruncate(file_.get(), end_) != 0)
    throw EnvironmentError(fmt::format("cannot write '{}': {}", path_, std::strerror(errno)), kDiskHint);
}

void ResultsFile::add(const StudyRowHead& head, std::int64_t offset) {
  in_order_ = in_order_ && head.number >= next_;
  next_ = head.number + 1;
  offsets_[head.number] = offset;
  auto& state = states_[head.number];
  if (!head.failure)
    state = State::done;
  else
    state = *head.failure == PointFailure::machine ? State::lost : State::failed;
}

void ResultsFile::append(std::string_view rows) {
  write_all(file_.get(), rows, path_);
  while (!rows.empty()) {
    auto length = rows.find('\n') + 1;
    auto head = read_study_row(rows.substr(0, length));
    DDPSIM_CHECK(head && head->number < states_.size(), "rows are whole");
    add(*head, end_);
    end_ += static_cast<std::int64_t>(length);
    rows.remove_prefix(length);
  }
}

std::size_t ResultsFile::rows() const {
  return states_.size() - static_cast<std::size_t>(std::ranges::count(states_, State::none));
}

std::size_t ResultsFile::failed() const {
  return rows() - static_cast<std::size_t>(std::ranges::count(states_, State::done));
}

void ResultsFile::finish() {
  if (in_order_) return;
  OrderedCopy copy(path_);
  for (std::size_t point = 0; point < states_.size(); ++point)
    if (states_[point] != State::none) copy.add(file_.get(), offsets_[point]);
  copy.finish();
}

MergedRows merge_results(const std::vector<std::string>& files, const std::string& to) {
  struct Where {
    std::size_t file = 0;  // plus one; 0: no row
    std::int64_t offset = 0;
    bool failed = false;
  };
  std::vector<Where> rows;  // by point
  std::vector<Descriptor> opened;
  std::string study;
  MergedRows merged;
  for (const auto& path : files) {
    Lines lines(path);
    opened.emplace_back(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!opened.back())
      throw EnvironmentError(fmt::format("cannot open '{}': {}", path, std::strerror(errno)),
                             "raise the limit of open files (ulimit -n), or merge in two steps");
    while (auto line = lines.next()) {
      auto head = head_of(*line, lines);
      if (study.empty()) {
        study = head.study;
        rows.resize(head.of);
      }
      if (head.study != study || head.of != rows.size())
        throw InputError(lines.place(), "this row is of another study than those before it",
                         "merge the shards of one study");
      auto& known = rows[head.number];
      if (known.file == 0 || known.failed) known = {opened.size(), lines.offset(), head.failure.has_value()};
    }
  }
  if (study.empty()) throw InputError("there is no row to merge", "name what 'ddpsim sweep --results' wrote");
  OrderedCopy copy(to);
  for (const auto& where : rows) {
    if (where.file == 0) continue;
    copy.add(opened[where.file - 1].get(), where.offset);
    ++merged.rows;
    merged.failed += where.failed;
  }
  copy.finish();
  merged.points = rows.size();
  return merged;
}

}  // namespace ddpsim
