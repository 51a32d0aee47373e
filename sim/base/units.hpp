#pragma once
// Strong types for the physical dimensions of the project. All are doubles in SI base units (seconds, bytes,
// bytes per second, floating-point operations and those per second); byte counts are whole and exact up to
// 2^53.
#include <compare>

namespace ddpsim {

template <class Dimension>
class Quantity {
 public:
  constexpr Quantity() = default;
  constexpr explicit Quantity(double value) : value_(value) {}
  [[nodiscard]] constexpr double value() const { return value_; }

  constexpr auto operator<=>(const Quantity&) const = default;
  constexpr Quantity& operator+=(Quantity other) {
    value_ += other.value_;
    return *this;
  }
  constexpr Quantity& operator-=(Quantity other) {
    value_ -= other.value_;
    return *this;
  }
  friend constexpr Quantity operator+(Quantity a, Quantity b) { return Quantity(a.value_ + b.value_); }
  friend constexpr Quantity operator-(Quantity a, Quantity b) { return Quantity(a.value_ - b.value_); }
  friend constexpr Quantity operator*(Quantity a, double factor) { return Quantity(a.value_ * factor); }
  friend constexpr Quantity operator*(double factor, Quantity a) { return Quantity(factor * a.value_); }
  friend constexpr Quantity operator/(Quantity a, double divisor) { return Quantity(a.value_ / divisor); }
  friend constexpr double operator/(Quantity a, Quantity b) { return a.value_ / b.value_; }

 private:
  double value_ = 0;
};

struct TimeDimension;
struct DataDimension;
struct BandwidthDimension;
struct WorkDimension;
struct WorkRateDimension;
using Seconds = Quantity<TimeDimension>;
using Bytes = Quantity<DataDimension>;
using BytesPerSecond = Quantity<BandwidthDimension>;
using Flops = Quantity<WorkDimension>;  // a count of operations, not a rate
using FlopsPerSecond = Quantity<WorkRateDimension>;

constexpr Seconds operator/(Bytes bytes, BytesPerSecond bandwidth) {
  return Seconds(bytes.value() / bandwidth.value());
}
constexpr BytesPerSecond operator/(Bytes bytes, Seconds time) {
  return BytesPerSecond(bytes.value() / time.value());
}
constexpr Bytes operator*(BytesPerSecond bandwidth, Seconds time) {
  return Bytes(bandwidth.value() * time.value());
}
constexpr Seconds operator/(Flops work, FlopsPerSecond rate) {
  return Seconds(work.value() / rate.value());
}

namespace literals {
constexpr Seconds operator""_s(long double v) {
  return Seconds(static_cast<double>(v));
}
constexpr Seconds operator""_s(unsigned long long v) {
  return Seconds(static_cast<double>(v));
}
constexpr Seconds operator""_ms(long double v) {
  return Seconds(static_cast<double>(v) * 1e-3);
}
constexpr Seconds operator""_ms(unsigned long long v) {
  return Seconds(static_cast<double>(v) * 1e-3);
}
constexpr Seconds operator""_us(long double v) {
  return Seconds(static_cast<double>(v) * 1e-6);
}
constexpr Seconds operator""_us(unsigned long long v) {
  return Seconds(static_cast<double>(v) * 1e-6);
}
constexpr Bytes operator""_B(unsigned long long v) {
  return Bytes(static_cast<double>(v));
}
constexpr Bytes operator""_MiB(unsigned long long v) {
  return Bytes(static_cast<double>(v) * 1048576.0);
}
constexpr BytesPerSecond operator""_GBps(long double v) {
  return BytesPerSecond(static_cast<double>(v) * 1e9);
}
constexpr BytesPerSecond operator""_GBps(unsigned long long v) {
  return BytesPerSecond(static_cast<double>(v) * 1e9);
}
}  // namespace literals

}  // namespace ddpsim
