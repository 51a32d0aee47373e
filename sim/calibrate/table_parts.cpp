#include "sim/calibrate/table_parts.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <limits>
#include <set>

#include <fmt/core.h>

#include "sim/base/counted.hpp"
#include "sim/base/limits.hpp"
#include "sim/base/quantity.hpp"

namespace ddpsim::calibrate {
namespace {

constexpr double kLongestTime = 1e6;
constexpr double kBandwidthTolerance = 0.02;  // beyond the printed digits
constexpr std::size_t kFewestRows = 3;
constexpr double kAnything = std::numeric_limits<double>::max();

double positive(const Located& cell, double unit, double highest, std::string_view what) {
  if (is_missing(cell))
    throw InputError(cell.span, fmt::format("{} is missing", what), "every row needs a size and a time");
  double value = parse_number(cell, -kAnything, kAnything);
  if (value <= 0)
    throw InputError(cell.span, fmt::format("'{}' is not positive", cell.text), "every row is a measurement");
  if (value * unit > highest)
    throw InputError(cell.span, fmt::format("'{}' is out of range", cell.text),
                     "is the column in another unit?");
  return value * unit;
}

// Half a unit of the last digit of a printed number: 0.005 of "12.34", 5e4 of "1.2e+06".
double rounding(const std::string& number) {
  auto exponent_at = std::min(number.find_first_of("eE"), number.size());
  auto point = std::min(number.find('.'), exponent_at);
  auto decimals = exponent_at - std::min(point + 1, exponent_at);
  int exponent = 0;
  if (exponent_at < number.size()) {
    auto from = exponent_at + (number.substr(exponent_at + 1).starts_with('+') ? 2 : 1);
    std::from_chars(number.data() + from, number.data() + number.size(), exponent);
  }
  return 0.5 * std::pow(10.0, exponent - static_cast<double>(decimals));
}

struct Range {
  double lowest, highest;
};

// Whether a printed GB/s can be what the range allows.
bool fits(const Located& printed, Range range) {
  double value = parse_number(printed, -kAnything, kAnything), half = rounding(printed.text);
  return value + half >= range.lowest * (1 - kBandwidthTolerance) &&
         value - half <= range.highest * (1 + kBandwidthTolerance);
}

// The GB/s of 1e9 that a size and a printed time stand for.
Range bandwidth(Bytes bytes, const PrintedTime& m) {
  double time = parse_number(m.time, 0, kAnything), half = rounding(m.time.text);
  double scale = 1e-9 / m.time_unit;
  return {bytes.value() * scale / (time + half),
          time > half ? bytes.value() * scale / (time - half) : std::numeric_limits<double>::infinity()};
}

// The busbw that an operation's algbw gives, on any number of ranks where theirs is not known.
Range busbw_range(Operation operation, Range algbw, std::optional<int> ranks) {
  return {algbw.lowest * busbw_factor(operation, ranks.value_or(2)),
          algbw.highest * busbw_factor(operation, ranks.value_or(kLargestWorldSize))};
}

void narrow_by_busbw(CollectiveTable& table, const Located& printed, Range algbw, BytesPerSecond shown) {
  auto fitting = table.operations;
  std::erase_if(fitting, [&](Operation o) { return !fits(printed, busbw_range(o, algbw, table.ranks)); });
  if (fitting.empty()) {
    auto factor = [&](Operation o) {
      double least = busbw_factor(o, table.ranks.value_or(2));
      bool is_fixed = table.ranks || least == busbw_factor(o, kLargestWorldSize);
      return is_fixed ? fmt::format("{:.4g}", least) : fmt::format("{:.4g} to {:.4g}", least, 2 * least);
    };
    throw InputError(
        printed.span,
        fmt::format("this is no bus bandwidth of {}{}: that would be {} times {:.4g} GB/s",
                    words(table.operations), table.ranks ? fmt::format(" on {} GPUs", *table.ranks) : "",
                    factor(table.operations.front()), shown.value() * 1e-9),
        "is it another operation's table, or of another number of GPUs?");
  }
  table.operations = std::move(fitting);
}

void check_bandwidths(Bytes bytes, const PrintedTime& m, CollectiveTable& table) {
  auto range = bandwidth(bytes, m);
  if (m.algbw && !is_missing(*m.algbw) && !fits(*m.algbw, range))
    throw InputError(m.algbw->span,
                     fmt::format("this row does not add up: {:.0f} bytes in {} are {}, not {} GB/s",
                                 bytes.value(), format_seconds(parse_time(m.time, m.time_unit)),
                                 format_bandwidth(bytes / parse_time(m.time, m.time_unit)), m.algbw->text),
                     "are size, time and bandwidth in the units their columns name?");
  if (!m.busbw || is_missing(*m.busbw)) return;
  narrow_by_busbw(table, *m.busbw, range, bytes / parse_time(m.time, m.time_unit));
}

}  // namespace

Bytes parse_size(const Located& cell, double unit) {
  double bytes = positive(cell, unit, kLargestByteCount.value(), "the size");
  if (std::floor(bytes) != bytes)
    throw InputError(cell.span, fmt::format("'{}' is not a whole number of bytes", cell.text),
                     "is the column in another unit?");
  return Bytes(bytes);
}

Seconds parse_time(const Located& cell, double unit) {
  return Seconds(positive(cell, unit, kLongestTime, "the time"));
}

bool is_zero(const Located& cell) {
  double value = 1;
  auto end = cell.text.data() + cell.text.size();
  auto [rest, error] = std::from_chars(cell.text.data(), end, value);
  return error == std::errc() && rest == end && value == 0;
}

bool is_missing(const Located& cell) {
  return cell.text.empty() || cell.text == "N/A";
}

int parse_nodes(const Located& cell) {
  return static_cast<int>(parse_integer(cell, 1, kLargestWorldSize));
}

int parse_ranks(const Located& cell) {
  return static_cast<int>(parse_integer(cell, 2, kLargestWorldSize));
}

std::string data_type(std::string name) {
  // torch's and numpy's names against nccl-tests' (common.cu: test_typenames).
  constexpr std::array<std::array<std::string_view, 2>, 6> names{{{"float32", "float"},
                                                                  {"fp32", "float"},
                                                                  {"float16", "half"},
                                                                  {"fp16", "half"},
                                                                  {"bf16", "bfloat16"},
                                                                  {"float64", "double"}}};
  for (const auto& [other, nccl] : names)
    if (name == other) return std::string(nccl);
  return name;
}

Seconds checked_time(Bytes bytes, const PrintedTime& m, CollectiveTable& table) {
  auto time = parse_time(m.time, m.time_unit);
  if (m.wrong && !is_missing(*m.wrong) && std::abs(parse_number(*m.wrong, -kAnything, kAnything)) >= 1)
    throw InputError(m.wrong->span, fmt::format("{} results were wrong", m.wrong->text),
                     "a run with wrong results is not a measurement; repair the machine, then repeat it");
  check_bandwidths(bytes, m, table);
  return time;
}

void note_busbw_factor(CollectiveTable& table, const PrintedTime& m) {
  if (!m.algbw || !m.busbw || is_missing(*m.algbw) || is_missing(*m.busbw)) return;
  double algbw = parse_number(*m.algbw, -kAnything, kAnything);
  if (algbw >= 100 * rounding(m.algbw->text))
    table.busbw_factor = parse_number(*m.busbw, -kAnything, kAnything) / algbw;
}

void set_operation(CollectiveTable& table, const Located& name) {
  auto operation = require_operation(name);
  if (table.operations.size() == 1 && table.operations.front() != operation)
    throw InputError(name.span,
                     fmt::format("'{}' here, but the file says {}", name.text, words(table.operations)),
                     "remove the one that is wrong");
  table.operations = {operation};
}

CollectiveTable read_settings(const std::vector<CsvComment>& comments) {
  CollectiveTable settings;
  std::set<std::string_view> seen;
  for (const CsvComment& comment : comments) {
    const auto& key = comment.key.text;
    auto once = [&](std::string_view what) -> const Located& {
      if (!seen.insert(what).second)
        throw InputError(comment.key.span, fmt::format("{} is given twice", what), "remove one");
      if (comment.value.text.empty())
        throw InputError(comment.key.span, fmt::format("'{}' has no value", key),
                         "give one, or remove the line");
      return comment.value;
    };
    if (key == "world_size" || key == "ranks" || key == "num_gpus")
      settings.ranks = parse_ranks(once("world_size"));
    if (key == "operation") set_operation(settings, once("operation"));
    if (key == "hardware" || key == "device") settings.device += comment.value.text;
    if (key == "nodes") settings.nodes = parse_nodes(once("nodes"));
    if (key == "nccl_version") settings.nccl_version = once("nccl_version").text;
    if (key == "data_type" || key == "dtype") settings.data_type = data_type(once("data_type").text);
  }
  return settings;
}

void set_ranks(CollectiveTable& table, int ranks, const SourceSpan& cell) {
  if (table.ranks && *table.ranks != ranks)
    throw InputError(cell, fmt::format("{} GPUs here, but the file says world_size {}", ranks, *table.ranks),
                     "remove the one that is wrong");
  table.ranks = ranks;
}

CollectiveTable& table_like(std::vector<CollectiveTable>& tables, const CollectiveTable& like,
                            std::optional<Bytes> new_size) {
  auto agrees = [&](const CollectiveTable& table) {
    bool same = table.ranks == like.ranks && table.nodes == like.nodes && table.data_type == like.data_type &&
                table.title == like.title &&
                std::includes(like.operations.begin(), like.operations.end(), table.operations.begin(),
                              table.operations.end());
    return same && (!new_size || std::none_of(table.rows.begin(), table.rows.end(),
                                              [&](const auto& row) { return row.bytes == *new_size; }));
  };
  auto found = std::find_if(tables.begin(), tables.end(), agrees);
  if (found != tables.end()) return *found;
  tables.push_back(like);
  return tables.back();
}

namespace {

// What tells the table apart in its file.
std::string distinction(const CollectiveTable& table, bool with_nodes, bool with_operation) {
  std::string text;
  if (table.ranks) text += ", " + counted(*table.ranks, "GPU");
  if (with_nodes && table.nodes) text += ", " + counted(*table.nodes, "node");
  if (with_operation) text += ", " + words(table.operations);
  for (const auto& part : {table.data_type, table.title})
    if (!part.empty()) text += ", " + part;
  return text;
}

void give_titles(std::vector<CollectiveTable>& tables, const std::string& path) {
  std::set<std::optional<int>> nodes;
  std::set<Operations> operations;
  for (const auto& table : tables) {
    nodes.insert(table.nodes);
    operations.insert(table.operations);
  }
  std::vector<std::string> apart;
  for (const auto& table : tables)
    apart.push_back(tables.size() > 1 ? distinction(table, nodes.size() > 1, operations.size() > 1) : "");
  for (std::size_t i = 0; i < tables.size(); ++i) {
    tables[i].path = path;
    tables[i].title = std::filesystem::path(path).filename().string() + apart[i];
    auto at = apart.begin() + static_cast<std::ptrdiff_t>(i);
    if (std::count(apart.begin(), apart.end(), *at) > 1)
      tables[i].title += fmt::format(", run {}", 1 + std::count(apart.begin(), at, *at));
  }
}

void sort_rows(std::vector<TableRow>& rows) {
  std::stable_sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.bytes < b.bytes; });
  for (std::size_t i = 1; i < rows.size(); ++i) {
    const auto &first = rows[i - 1], &again = rows[i];
    if (first.bytes != again.bytes ||
        (first.out_of_place == again.out_of_place && first.in_place == again.in_place))
      continue;
    throw InputError(
        again.span,
        fmt::format("{:.0f} bytes again: {} here, {} in line {}", again.bytes.value(),
                    format_seconds(again.out_of_place), format_seconds(first.out_of_place), first.span.line),
        "one row a size; runs that differ go into files of their own");
  }
  rows.erase(
      std::unique(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.bytes == b.bytes; }),
      rows.end());
}

}  // namespace

std::vector<CollectiveTable> finish_tables(std::vector<CollectiveTable> tables, const std::string& path) {
  give_titles(tables, path);
  for (auto& table : tables) {
    sort_rows(table.rows);
    if (table.nodes && table.ranks && *table.nodes > *table.ranks)
      throw InputError(
          table.rows.front().span,
          fmt::format("{} cannot hold {}", counted(*table.nodes, "node"), counted(*table.ranks, "GPU")),
          "which of the two is wrong?");
    if (table.rows.size() < kFewestRows)
      throw InputError(
          table.rows.back().span,
          fmt::format("{} has {}", table.title, counted(static_cast<int>(table.rows.size()), "size")),
          fmt::format("a table needs at least {} sizes; is the file cut off?", kFewestRows));
  }
  return tables;
}

std::string nccl_version_of(std::int64_t code) {
  return code < 10000 ? fmt::format("{}.{}.{}", code / 1000, code / 100 % 10, code % 100)
                      : fmt::format("{}.{}.{}", code / 10000, code / 100 % 100, code % 100);
}

}  // namespace ddpsim::calibrate
