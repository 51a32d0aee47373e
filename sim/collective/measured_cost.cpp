#include "sim/collective/measured_cost.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "sim/base/check.hpp"
#include "sim/base/limits.hpp"
#include "sim/base/quantity.hpp"
#include "sim/base/suggest.hpp"

namespace ddpsim {
namespace {

constexpr double kLongestTime = 1e6;

// Pool adjacent violators: runs of decreasing times become their geometric mean.
void make_monotone(std::vector<MeasuredPoint>& points) {
  struct Pool {
    double log_sum;
    std::size_t size;
    Seconds time;  // compared as it will be used: the logarithm hides differences in the last digits
  };
  std::vector<Pool> pools;
  for (const auto& point : points) {
    pools.push_back({std::log(point.measured.value()), 1, point.measured});
    while (pools.size() > 1 && pools[pools.size() - 2].time > pools.back().time) {
      Pool last = pools.back();
      pools.pop_back();
      Pool& pool = pools.back();
      pool.log_sum += last.log_sum;
      pool.size += last.size;
      pool.time = Seconds(std::exp(pool.log_sum / static_cast<double>(pool.size)));
    }
  }
  auto point = points.begin();
  for (const auto& pool : pools)
    for (std::size_t i = 0; i < pool.size; ++i, ++point) point->time = pool.time;
}

// Exact at both points and, between them, never decreasing.
Seconds on_line(const MeasuredPoint& a, const MeasuredPoint& b, Bytes bytes) {
  return Seconds(std::lerp(a.time.value(), b.time.value(), (bytes - a.bytes) / (b.bytes - a.bytes)));
}

struct Header {
  int world_size = 0;
  Pooling pooling = Pooling::monotone;
  std::optional<std::string> run_set;
  std::optional<Backend> backend;
};

Backend parse_backend(const Located& value) {
  std::vector<std::string_view> names;
  for (const auto& row : kBackends) {
    if (value.text == row.name) return row.backend;
    names.push_back(row.name);
  }
  throw InputError(value.span, fmt::format("unknown backend '{}'", value.text),
                   fmt::format("it is one of {}", fmt::join(names, ", ")));
}

Operation parse_operation(const Located& value) {
  if (auto operation = find_operation(value.text)) return *operation;
  auto names = operation_names();
  throw InputError(value.span,
                   fmt::format("unknown operation '{}'{}", value.text, did_you_mean(value.text, names)),
                   fmt::format("it is one of {}", fmt::join(names, ", ")));
}

Pooling parse_pooling(const Located& value) {
  if (value.text == "monotone") return Pooling::monotone;
  if (value.text == "none") return Pooling::none;
  throw InputError(value.span, fmt::format("unknown pooling '{}'", value.text),
                   "it is monotone (the default) or none");
}

Header read_header(const CsvTable& table) {
  const std::vector<std::string> known{"ddpsim-allreduce", "world_size", "source",
                                       "backend",          "pooling",    "run_set"};
  std::set<std::string> seen;
  Header header;
  for (const auto& [key, value] : table.comments) {
    bool is_known = std::find(known.begin(), known.end(), key.text) != known.end();
    if (is_known && !seen.insert(key.text).second)
      throw InputError(key.span, fmt::format("header key '{}' appears twice", key.text), "remove one");
    if (key.text == "world_size") {
      header.world_size = static_cast<int>(parse_integer(value, 2, kLargestWorldSize));
    } else if (key.text == "run_set") {
      header.run_set = value.text;
    } else if (key.text == "backend") {
      header.backend = parse_backend(value);
    } else if (key.text == "pooling") {
      header.pooling = parse_pooling(value);
    } else if (!is_known && key.text.find(' ') == std::string::npos && !value.text.empty()) {
      throw InputError(key.span,
                       fmt::format("unknown header key '{}'{}", key.text, did_you_mean(key.text, known)),
                       "write free text with a blank before any colon");
    }
  }
  if (header.world_size == 0)
    throw InputError(whole_file(table.source), "does not say its world size", "add '# world_size: N'");
  return header;
}

double positive(const Located& field, double highest) {
  double value = parse_number(field, 0, highest);
  if (value <= 0)
    throw InputError(field.span, fmt::format("'{}' is not positive", field.text),
                     "every row is a measurement");
  return value;
}

}  // namespace

MeasuredCost::MeasuredCost(std::vector<MeasuredPoint> points, Pooling pooling)
    : points_(std::move(points)), pooling_(pooling) {
  DDPSIM_CHECK(!points_.empty(), "a cost table has rows");
  if (pooling == Pooling::monotone) make_monotone(points_);
}

Seconds MeasuredCost::operator()(Bytes bytes) const {
  auto above = std::lower_bound(points_.begin(), points_.end(), bytes,
                                [](const auto& p, Bytes b) { return p.bytes < b; });
  const auto& first = points_.front();
  if (bytes < first.bytes && points_.size() == 1) return first.time;
  if (bytes < first.bytes)
    return std::clamp(on_line(first, points_[1], bytes), first.time * (bytes / first.bytes), first.time);
  if (above == points_.end()) return points_.back().time * (bytes / points_.back().bytes);
  return above == points_.begin() ? first.time : on_line(*std::prev(above), *above, bytes);
}

bool MeasuredCost::grows() const {
  return std::is_sorted(points_.begin(), points_.end(),
                        [](const auto& a, const auto& b) { return a.time < b.time; });
}

std::vector<MeasuredPoint> MeasuredCost::repaired_points() const {
  std::vector<MeasuredPoint> repaired;
  std::copy_if(points_.begin(), points_.end(), std::back_inserter(repaired),
               [](const auto& p) { return p.time != p.measured; });
  return repaired;
}

bool MeasuredTable::is_replay() const {
  return std::ranges::any_of(operations, [](const auto& one) { return one.second.cost.is_replay(); });
}

bool MeasuredTable::grows() const {
  return std::ranges::all_of(operations, [](const auto& one) { return one.second.cost.grows(); });
}

std::vector<Note> table_notes(const MeasuredTable& table) {
  constexpr BytesPerSecond kSlowest(30e6), kFastest(3e12);  // Gloo over 500 Mbit/s; beyond any GPU's links
  constexpr Bytes kSmall(65536);
  constexpr Seconds kLongLatency(0.02);
  std::vector<Note> notes;
  for (const auto& [operation, times] : table.operations) {
    const auto& points = times.cost.points();
    // Tables of nothing but all-reduces do not name them.
    auto of = operation == Operation::all_reduce ? "" : fmt::format(" of {}", operation_name(operation));
    if (points.size() == 1)
      notes.push_back({"table-one-row",
                       fmt::format("the measured table has one row{}, {}: what any other size takes is a "
                                   "guess",
                                   of, format_bytes(points.front().bytes))});
    auto say = [&](const MeasuredPoint& point, BytesPerSecond algbw) {
      notes.push_back(
          {"table-units", fmt::format("in the measured table {}{} take {} (algbw {}): are bytes in bytes and "
                                      "time_s in seconds?",
                                      format_bytes(point.bytes), of, format_seconds(point.measured),
                                      format_bandwidth(algbw))});
    };
    auto algbw = points.back().bytes / points.back().measured;
    bool is_slow_start = points.front().bytes <= kSmall && points.front().measured > kLongLatency;
    if (algbw < kSlowest || algbw > kFastest)
      say(points.back(), algbw);
    else if (is_slow_start)
      say(points.front(), points.front().bytes / points.front().measured);
  }
  return notes;
}

MeasuredTable read_measured_table(const std::string& path) {
  CsvTable table = read_csv(path, "an all-reduce table", "ddpsim-allreduce");
  auto header = read_header(table);
  const std::vector<std::string> known{"operation", "bytes", "time_s", "std_s", "queued_s"};
  for (const auto& column : table.header)
    if (std::find(known.begin(), known.end(), column.text) == known.end())
      throw InputError(column.span,
                       fmt::format("unknown column '{}'{}", column.text, did_you_mean(column.text, known)),
                       "the columns are bytes, time_s and optionally operation, std_s and queued_s");
  auto bytes_column = table.column("bytes"), time_column = table.column("time_s");
  auto operation_column = table.find_column("operation"), spread_column = table.find_column("std_s"),
       queued_column = table.find_column("queued_s");
  struct Points {
    std::vector<MeasuredPoint> alone, queued;
  };
  std::map<Operation, Points> of;
  for (const auto& row : table.rows) {
    auto& [alone, queued] =
        of[operation_column ? parse_operation(row[*operation_column]) : Operation::all_reduce];
    const Located& size = row[bytes_column];
    Bytes bytes(positive(size, kLargestByteCount.value()));
    if (std::floor(bytes.value()) != bytes.value())
      throw InputError(size.span, fmt::format("'{}' is not a whole number of bytes", size.text),
                       "is the column in another unit?");
    if (!alone.empty() && bytes <= alone.back().bytes)
      throw InputError(size.span, fmt::format("{} bytes after {:.0f}", size.text, alone.back().bytes.value()),
                       fmt::format("sort the rows{} by bytes, one row a size",
                                   operation_column ? " of an operation" : ""));
    Seconds time(positive(row[time_column], kLongestTime));
    if (spread_column) parse_number(row[*spread_column], 0, kLongestTime);
    alone.push_back({bytes, time, time});
    if (queued_column && !row[*queued_column].text.empty()) {
      Seconds after(positive(row[*queued_column], kLongestTime));
      queued.push_back({bytes, after, after});
    }
  }
  if (of.empty()) throw InputError(whole_file(table.source), "has no rows", "is the file cut off?");
  MeasuredTable measured{{}, header.world_size, header.run_set, header.backend};
  for (auto& [operation, points] : of) {
    OperationTimes times{MeasuredCost(std::move(points.alone), header.pooling)};
    if (!points.queued.empty()) times.queued.emplace(std::move(points.queued), header.pooling);
    measured.operations.emplace(operation, std::move(times));
  }
  return measured;
}

}  // namespace ddpsim
