#include "sim/config/sweep_axes.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include <fmt/core.h>

#include "sim/base/limits.hpp"
#include "sim/config/reader.hpp"

namespace ddpsim::config {
namespace {

enum class Spacing { log, linear };

// A dimension a range may run over, and how its points are written back.
struct RangeKind {
  double (*parse)(const Value& value);
  std::string (*print)(double value);
};

double parse_plain(const Value& value) {
  return as_number(-1e15, 1e15)(value);
}

constexpr std::array<RangeKind, 4> kKinds{{
    {[](const Value& v) { return as_bytes(v).value(); },
     [](double x) { return fmt::format("{:.0f}B", std::round(x)); }},
    {[](const Value& v) { return as_seconds(v).value(); }, [](double x) { return fmt::format("{}s", x); }},
    {[](const Value& v) { return as_bandwidth(v).value(); },
     [](double x) { return fmt::format("{}B/s", x); }},
    {parse_plain, [](double x) { return fmt::format("{}", x); }},
}};

bool parses(const RangeKind& kind, const Value& value) {
  try {
    kind.parse(value);
    return true;
  } catch (const InputError&) {
    return false;
  }
}

// The kind both ends share; the error of reading `to` (or `from`) as that kind when there is none.
const RangeKind& common_kind(const Value& from, const Value& to) {
  for (const auto& kind : kKinds)
    if (parses(kind, from)) {
      kind.parse(to);
      return kind;
    }
  throw InputError(from.span, fmt::format("'{}' is neither a quantity nor a number", from.scalar),
                   "write it like 1MiB");
}

bool is_whole(const Value& value) {
  return value.scalar.find_first_not_of("0123456789") == std::string::npos;
}

double point_at(std::int64_t i, std::int64_t points, double from, double to, Spacing spacing) {
  if (i > 0 && i == points - 1) return to;
  double part = points == 1 ? 0 : static_cast<double>(i) / static_cast<double>(points - 1);
  return spacing == Spacing::log ? from * std::pow(to / from, part) : from + (to - from) * part;
}

std::vector<Value> expand_range(const Value& range, const std::string& key) {
  if (!range.find("from") && !range.find("to") && !range.entries.empty())
    throw InputError(range.entries.front().key_span,
                     fmt::format("the axis '{}' is a map, but no range with 'from' and 'to'", key),
                     fmt::format("an axis is named by its whole key, like '{}.{}: [a, b]'", key,
                                 range.entries.front().key));
  MapReader reader(range, "sweep." + key);
  const Value& from_value = reader.require("from");
  const Value& to_value = reader.require("to");
  auto points = reader.required("points", as_integer(1, static_cast<std::int64_t>(kMostSweepPoints)));
  auto spacing =
      reader.optional("spacing", as_word(Words<Spacing>{{"log", Spacing::log}, {"linear", Spacing::linear}}))
          .value_or(Spacing::linear);
  reader.finish();
  const RangeKind& kind = common_kind(from_value, to_value);
  double from = kind.parse(from_value), to = kind.parse(to_value);
  if (!(from < to) && points > 1)
    throw InputError(to_value.span,
                     fmt::format("'to' ({}) is not above 'from' ({})", to_value.scalar, from_value.scalar),
                     "swap them");
  if (spacing == Spacing::log && from <= 0)
    throw InputError(from_value.span, "a logarithmic range cannot start at zero",
                     "start above zero, or use spacing: linear");
  bool whole = is_whole(from_value) && is_whole(to_value);
  std::vector<Value> values;
  for (std::int64_t i = 0; i < points; ++i) {
    double x = point_at(i, points, from, to, spacing);
    auto value = scalar_value(kind.print(whole ? std::round(x) : x), range.span);
    if (values.empty() || values.back().scalar != value.scalar) values.push_back(std::move(value));
  }
  return values;
}

std::vector<Value> axis_values(const Entry& axis) {
  if (axis.value.kind == Value::Kind::map) return expand_range(axis.value, axis.key);
  if (axis.value.kind != Value::Kind::sequence)
    throw InputError(axis.value.span,
                     fmt::format("the axis '{}' is {}", axis.key, kind_name(axis.value.kind)),
                     "write a list, or {from: 1MiB, to: 1GiB, points: 30, spacing: log}");
  if (axis.value.items.empty())
    throw InputError(axis.value.span, fmt::format("the axis '{}' has no values", axis.key),
                     "list at least one");
  std::set<std::string> seen;
  for (const auto& item : axis.value.items) {
    if (item.kind == Value::Kind::null)
      throw InputError(item.span, "a value of this axis is nothing",
                       "write the value, or [] for an empty list");
    auto text = text_of(item);
    if (!seen.insert(text).second)
      throw InputError(item.span, fmt::format("'{}' appears twice on this axis", text), "remove one");
  }
  return axis.value.items;
}

}  // namespace

std::vector<SweepAxis> take_sweep_axes(Value& root, std::size_t most) {
  std::vector<SweepAxis> axes;
  Entry* sweep = root.find("sweep");
  if (!sweep) return axes;
  if (sweep->value.kind != Value::Kind::map)
    throw InputError(sweep->key_span, "'sweep' is a map from scenario keys to values",
                     "write it like 'ddp.bucket_cap: [1MiB, 25MiB]' below it");
  std::size_t points = 1;
  for (const auto& axis : sweep->value.entries) {
    if (axis.key.starts_with("sweep"))
      throw InputError(axis.key_span, "a sweep cannot sweep itself", "name a scenario key");
    axes.push_back({axis.key, axis.key_span, axis_values(axis)});
    points *= axes.back().values.size();
    if (points > most)
      throw InputError(axis.key_span, fmt::format("the sweep has more than {} points", most),
                       "use fewer values");
  }
  std::erase_if(root.entries, [](const Entry& e) { return e.key == "sweep"; });
  return axes;
}

}  // namespace ddpsim::config
