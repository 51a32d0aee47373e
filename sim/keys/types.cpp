#include "sim/keys/types.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "sim/base/limits.hpp"

namespace ddpsim::keys {
namespace {

template <class T>
Type<T> quantity(T (*read)(const Value&), const char* unit, Dimension dimension) {
  return scalar_type<T>(
      read, [unit](const T& q) { return fmt::format("{}{}", q.value(), unit); }, shape_of(dimension));
}

}  // namespace

// As sim/base/quantity.hpp reads them.
Shape shape_of(Dimension dimension) {
  using Kind = Shape::Kind;
  switch (dimension) {
    case Dimension::size:
      return {.kind = Kind::quantity, .example = "25MiB", .pattern = "^[0-9.eE+-]+ *(k|[KMGT]i?)?B$"};
    case Dimension::bandwidth:
      return {.kind = Kind::quantity,
              .example = "12.5GB/s",
              .pattern = "^[0-9.eE+-]+ *(k|[KMGT]i?)?[Bb](/s|ps)$"};
    case Dimension::flops_rate:
      return {.kind = Kind::quantity, .example = "66.9TFLOP/s", .pattern = "^[0-9.eE+-]+ *[kMGTP]?FLOP/s$"};
    case Dimension::time:
      return {.kind = Kind::quantity, .example = "5us", .pattern = "^[0-9.eE+-]+ *(ns|us|ms|s|min|h)$"};
    case Dimension::share:
      return {.kind = Kind::quantity, .example = "5%", .pattern = "^[0-9.eE+-]+%$"};
    case Dimension::count:
      return {.kind = Kind::count, .example = "15T", .pattern = "^[0-9.][0-9.eE+-]*[kKMBT]?$"};
    case Dimension::release:
      return {.kind = Kind::version, .example = "2.27", .pattern = "^[0-9]+([.][0-9]+)+$"};
  }
  return {.kind = Kind::text};
}

Value scalar(std::string text) {
  return config::scalar_value(std::move(text));
}

Type<bool> boolean() {
  return scalar_type<bool>(config::as_bool, [](const bool& b) { return std::string(b ? "true" : "false"); },
                           {Shape::Kind::boolean});
}
Type<Bytes> size() {
  return quantity<Bytes>(config::as_bytes, "B", Dimension::size);
}
Type<BytesPerSecond> bandwidth() {
  return quantity<BytesPerSecond>(config::as_bandwidth, "B/s", Dimension::bandwidth);
}
Type<FlopsPerSecond> flops_rate() {
  return quantity<FlopsPerSecond>(config::as_flops_rate, "FLOP/s", Dimension::flops_rate);
}
Type<Seconds> time(AtZero zero) {
  auto parse = [zero](const Value& v) {
    auto given = config::as_seconds(v);
    if (given < Seconds() || (given == Seconds() && zero == AtZero::refused))
      throw InputError(v.span, "a time above 0 is expected", "write it like 10min");
    return given;
  };
  return scalar_type<Seconds>(
      parse, [](const Seconds& s) { return fmt::format("{}s", s.value()); }, shape_of(Dimension::time));
}
Type<double> number(double least, double most) {
  return scalar_type<double>(config::as_number(least, most),
                             [](const double& d) { return fmt::format("{}", d); },
                             {Shape::Kind::number, least, most});
}
namespace {
// That reads back as the same number: a hundredth of it may be one beside it.
std::string percentage_text(const double& share) {
  double percent = 100 * share;
  for (double one : {percent, std::nextafter(percent, 0.0), std::nextafter(percent, 1e300)})
    if (one / 100 == share) percent = one;
  return fmt::format("{}%", percent);
}
}  // namespace

Type<double> percentage() {
  auto parse = [](const Value& value) {
    auto given = config::as_string(value);
    if (!given.ends_with('%'))
      throw InputError(value.span, fmt::format("'{}' is not a percentage", given), "write it like 5%");
    return parse_number({given.substr(0, given.size() - 1), value.span}, 0, 1e6) / 100;
  };
  return scalar_type<double>(parse, percentage_text, shape_of(Dimension::share));
}
Type<double> count() {
  auto parse = [](const Value& value) {
    constexpr std::pair<std::string_view, double> kUnits[] = {{"", 1},    {"k", 1e3}, {"K", 1e3},
                                                              {"M", 1e6}, {"B", 1e9}, {"T", 1e12}};
    constexpr double kLeast = 1, kMost = 1e18;
    auto given = config::as_string(value);
    auto digits = std::min(given.find_first_not_of("0123456789.eE+-"), given.size());
    auto unit = std::string_view(given).substr(digits);
    const auto* known = std::ranges::find(kUnits, unit, &std::pair<std::string_view, double>::first);
    if (known == std::end(kUnits) || digits == 0)
      throw InputError(value.span, fmt::format("'{}' is not a count", given),
                       "write it like 15T, 300B or 1.5e13");
    double factor = known->second;
    return factor * parse_number({given.substr(0, digits), value.span}, kLeast / factor, kMost / factor);
  };
  return scalar_type<double>(
      parse, [](const double& d) { return fmt::format("{}", d); }, shape_of(Dimension::count));
}
Type<std::int64_t> elements(std::int64_t least) {
  auto parse = [=](const Value& value) {
    double all = config::as_number(static_cast<double>(least), static_cast<double>(kMostElements))(value);
    if (all != std::floor(all))
      throw InputError(value.span, "a number of elements is whole", "write 5e8, or 500000000");
    return static_cast<std::int64_t>(all);
  };
  return scalar_type<std::int64_t>(
      parse, [](const std::int64_t& i) { return fmt::format("{}", i); },
      {Shape::Kind::number, static_cast<double>(least), static_cast<double>(kMostElements)});
}
Type<std::string> text() {
  return scalar_type<std::string>(config::as_string, [](const std::string& s) { return s; },
                                  {Shape::Kind::text});
}
Type<std::uint64_t> seed() {
  return whole<std::uint64_t>(0, std::int64_t{1} << 53U);
}

namespace {
class Any final : public TypedCodec<Value> {
 public:
  [[nodiscard]] std::vector<Shape> shapes() const override {
    return {{.kind = Shape::Kind::any_map}, {.kind = Shape::Kind::text}};
  }

 protected:
  void parse(const Value& from, Value& to, const Cursor&) const override { to = from; }
  [[nodiscard]] std::optional<Value> print(const Value& value) const override {
    if (value.kind == Value::Kind::null) return std::nullopt;
    return value;
  }
};
}  // namespace
Type<Value> any() {
  return {std::make_shared<Any>()};
}

}  // namespace ddpsim::keys
