#include "sim/trace/recorded_communication.hpp"

#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/check.hpp"
#include "sim/base/csv.hpp"
#include "sim/base/limits.hpp"
#include "sim/base/quantity.hpp"
#include "sim/base/statistics.hpp"
#include "sim/base/suggest.hpp"

namespace ddpsim {
namespace {

constexpr std::string_view kFormat = "ddpsim-recorded";  // version 1
constexpr std::string_view kWhat = "a table of recorded collectives";
constexpr std::int64_t kMostElements = std::int64_t{1} << 53;  // counts up to here are exact in a double
constexpr std::int64_t kMostSteps = 1'000'000'000;
constexpr double kLongestTime = 1e6;  // s; what an all-reduce table may hold

using Values = std::map<std::string, Located, std::less<>>;

const std::vector<std::string>& known_columns() {
  static const std::vector<std::string> columns{"collective", "elements", "dtype",     "ready_s",
                                                "start_s",    "end_s",    "duration_s"};
  return columns;
}

// As in a layer trace: no ':' at all, or blanks before the first one.
bool is_free_text(const CsvComment& comment) {
  const auto& line = comment.key.span.file->lines[static_cast<std::size_t>(comment.key.span.line) - 1];
  return line.find(':') == std::string::npos || comment.key.text.empty() ||
         comment.key.text.find_first_of(" \t") != std::string::npos;
}

Values read_header(const CsvTable& table) {
  const std::vector<std::string> known{std::string(kFormat), "world_size", "steps", "source"};
  Values values;
  for (const auto& comment : table.comments) {
    const auto& [key, value] = comment;
    if (is_free_text(comment)) continue;
    if (std::find(known.begin(), known.end(), key.text) == known.end())
      throw InputError(
          key.span, fmt::format("unknown header key '{}'{}", key.text, did_you_mean(key.text, known)),
          fmt::format("the keys are {}; a remark has no ':' after its first word", fmt::join(known, ", ")));
    if (value.text.empty())
      throw InputError(key.span, fmt::format("header key '{}' has no value", key.text),
                       "give it a value or remove the line");
    auto [first, inserted] = values.emplace(key.text, value);
    if (!inserted)
      throw InputError(key.span, fmt::format("header key '{}' appears twice", key.text),
                       fmt::format("it is first on line {}; remove one", first->second.span.line));
  }
  return values;
}

int count(const CsvTable& table, const Values& values, std::string_view key, std::int64_t lowest,
          std::int64_t highest) {
  auto found = values.find(key);
  if (found == values.end())
    throw InputError(whole_file(table.source), fmt::format("does not say its {}", key),
                     fmt::format("add '# {}: N'", key));
  return static_cast<int>(parse_integer(found->second, lowest, highest));
}

void check_columns(const CsvTable& table) {
  const auto& known = known_columns();
  for (const auto& column : table.header)
    if (std::find(known.begin(), known.end(), column.text) == known.end())
      throw InputError(column.span,
                       fmt::format("unknown column '{}'{}", column.text, did_you_mean(column.text, known)),
                       fmt::format("the columns of {} are {}", kWhat, fmt::join(known, ", ")));
  for (const auto& column : known) static_cast<void>(table.column(column));
}

// A row's fields by the names of their columns.
class Row {
 public:
  Row(const CsvTable& table, std::size_t row) : table_(table), row_(table.rows[row]) {}

  [[nodiscard]] const Located& operator[](std::string_view column) const {
    const auto& field = row_[table_.column(column)];
    if (field.text.empty())
      throw InputError(field.span, fmt::format("no {} here", column), "every collective has one");
    return field;
  }
  [[nodiscard]] Seconds time(std::string_view column) const {
    return Seconds(parse_number((*this)[column], 0, kLongestTime));
  }

 private:
  const CsvTable& table_;
  const std::vector<Located>& row_;
};

DType parse_dtype(const Located& field) {
  if (auto dtype = find_dtype(field.text)) return *dtype;
  auto names = dtype_names();
  throw InputError(field.span,
                   fmt::format("unknown dtype '{}'{}", field.text, did_you_mean(field.text, names)),
                   fmt::format("the dtypes are {}", fmt::join(names, ", ")));
}

RecordedCollective parse_collective(const Row& row, std::size_t index) {
  const auto& number = row["collective"];
  if (parse_integer(number, 0, kMostElements) != static_cast<std::int64_t>(index))
    throw InputError(number.span, fmt::format("collective {} where {} is next", number.text, index),
                     "rows stand in the order of launch, numbered from 0");
  RecordedCollective collective;
  collective.elements = parse_integer(row["elements"], 1, kMostElements);
  collective.dtype = parse_dtype(row["dtype"]);
  collective.ready = row.time("ready_s");
  collective.start = row.time("start_s");
  collective.end = row.time("end_s");
  collective.duration = row.time("duration_s");
  if (collective.start < collective.ready)
    throw InputError(row["start_s"].span,
                     fmt::format("starts before {}, when it is ready", collective.ready.value()),
                     "an all-reduce begins when its gradients are there; are the columns in another order?");
  if (collective.end < collective.start)
    throw InputError(row["end_s"].span, fmt::format("ends before it starts at {}", collective.start.value()),
                     "are the columns in another order?");
  if (collective.duration == Seconds(0))
    throw InputError(row["duration_s"].span, "a duration of zero", "a recorded time is above zero seconds");
  return collective;
}

// What the reader would refuse.
void check_promises(const RecordedCommunication& recorded) {
  DDPSIM_CHECK(recorded.world_size >= 2 && recorded.world_size <= kLargestWorldSize, "a group that reduces");
  DDPSIM_CHECK(recorded.steps >= 1, "a recorded step");
  DDPSIM_CHECK(!recorded.collectives.empty(), "recorded collectives");
  Seconds previous;
  Bytes total;
  for (const auto& collective : recorded.collectives) {
    DDPSIM_CHECK(collective.elements >= 1 && collective.elements <= kMostElements,
                 "a collective has elements");
    DDPSIM_CHECK(collective.ready >= Seconds(0) && collective.start >= collective.ready &&
                     collective.end >= collective.start && collective.end <= Seconds(kLongestTime),
                 "a collective is ready, starts and ends in this order");
    DDPSIM_CHECK(collective.duration > Seconds(0) && collective.duration <= Seconds(kLongestTime),
                 "a collective takes time");
    DDPSIM_CHECK(collective.start >= previous, "collectives are in the order of their launch");
    previous = collective.start;
    total += collective.bytes();
  }
  DDPSIM_CHECK(total <= kLargestByteCount, "collectives of less than 8 PiB");
}

std::string source_line(const std::optional<std::string>& source) {
  constexpr std::string_view kBlank = " \t";
  if (!source) return {};
  bool blank_around = source->empty() || kBlank.find(source->front()) != std::string_view::npos ||
                      kBlank.find(source->back()) != std::string_view::npos;
  if (blank_around || source->find_first_of(std::string_view("\0\r\n", 3)) != std::string::npos)
    throw InputError(fmt::format("the recording's source '{}' cannot be written as a header line", *source),
                     "it must be one line of text without blanks around it");
  return fmt::format("# source: {}\n", *source);
}

}  // namespace

RecordedCommunication parse_recorded_communication(const LoadedText& text) {
  auto table = parse_csv(text, kWhat, kFormat);
  auto header = read_header(table);
  check_columns(table);
  RecordedCommunication recorded;
  recorded.world_size = count(table, header, "world_size", 2, kLargestWorldSize);
  recorded.steps = count(table, header, "steps", 1, kMostSteps);
  if (auto source = header.find("source"); source != header.end()) recorded.source = source->second.text;
  if (table.rows.empty())
    throw InputError(whole_file(table.source), "has no collectives", "is the file cut off?");
  Bytes total;
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    Row row(table, i);
    auto collective = parse_collective(row, i);
    if (i > 0 && collective.start < recorded.collectives.back().start)
      throw InputError(row["start_s"].span,
                       fmt::format("starts before the previous collective's {}",
                                   recorded.collectives.back().start.value()),
                       "rows stand in the order of launch: sort them by start_s");
    total += collective.bytes();
    if (total > kLargestByteCount)
      throw InputError(row["elements"].span, "the collectives up to here are more than 8 PiB",
                       "check the element counts");
    recorded.collectives.push_back(collective);
  }
  return recorded;
}

RecordedCommunication read_recorded_communication(const std::string& path) {
  return parse_recorded_communication(load_text(path, kWhat));
}

std::string write_recorded_communication(const RecordedCommunication& recorded) {
  check_promises(recorded);
  auto out =
      fmt::format("# {}: 1\n# world_size: {}\n# steps: {}\n", kFormat, recorded.world_size, recorded.steps);
  out += source_line(recorded.source);
  out += fmt::format("{}\n", fmt::join(known_columns(), ","));
  for (std::size_t i = 0; i < recorded.collectives.size(); ++i) {
    const auto& one = recorded.collectives[i];
    out += fmt::format("{},{},{},{},{},{},{}\n", i, one.elements, dtype_name(one.dtype), one.ready.value(),
                       one.start.value(), one.end.value(), one.duration.value());
  }
  return out;
}

std::string write_all_reduce_table(const RecordedCommunication& recorded) {
  check_promises(recorded);
  std::map<Bytes, std::vector<double>> times;
  for (const auto& collective : recorded.collectives)
    times[collective.bytes()].push_back(collective.duration.value());
  auto out = fmt::format("# ddpsim-allreduce: 1\n# world_size: {}\n", recorded.world_size);
  out += source_line(recorded.source);
  // Of these buckets, not of a curve over message sizes.
  out += "# pooling: none\n";
  out += "# kernels of one rank of a training run, whose times include waiting for the slowest rank\n";
  out += "bytes,time_s\n";
  for (const auto& [bytes, durations] : times)
    out += fmt::format("{},{}\n", bytes.value(), median(durations));
  return out;
}

}  // namespace ddpsim
