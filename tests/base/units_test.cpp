#include "sim/base/units.hpp"

#include <gtest/gtest.h>

namespace ddpsim {
namespace {

using namespace literals;

template <class A, class B>
concept Addable = requires(A a, B b) {
  a + b;
};
template <class A, class B>
concept Subtractable = requires(A a, B b) {
  a - b;
};
template <class A, class B>
concept Divisible = requires(A a, B b) {
  a / b;
};
template <class A, class B>
concept Multipliable = requires(A a, B b) {
  a* b;
};
template <class A, class B>
concept Comparable = requires(A a, B b) {
  a < b;
};

static_assert(Addable<Seconds, Seconds> && Addable<Bytes, Bytes> && Addable<BytesPerSecond, BytesPerSecond>);
static_assert(!Addable<Seconds, Bytes> && !Addable<Seconds, BytesPerSecond> &&
              !Addable<Bytes, BytesPerSecond>);
static_assert(!Addable<Seconds, double> && !Addable<double, Bytes>);
static_assert(Subtractable<Seconds, Seconds> && !Subtractable<Seconds, Bytes> &&
              !Subtractable<Bytes, double>);
static_assert(Comparable<Seconds, Seconds> && !Comparable<Seconds, Bytes> && !Comparable<Seconds, double>);
static_assert(Multipliable<Seconds, double> && Multipliable<double, Seconds>);
static_assert(!Multipliable<Seconds, Seconds> && !Multipliable<Bytes, Seconds>);
static_assert(!Divisible<BytesPerSecond, Seconds> && !Divisible<Seconds, Bytes> &&
              !Divisible<double, Seconds>);
static_assert(std::is_same_v<decltype(Bytes() / BytesPerSecond()), Seconds>);
static_assert(std::is_same_v<decltype(Bytes() / Seconds()), BytesPerSecond>);
static_assert(std::is_same_v<decltype(BytesPerSecond() * Seconds()), Bytes>);
static_assert(std::is_same_v<decltype(Bytes() / Bytes()), double>);
static_assert(std::is_same_v<decltype(Flops() / FlopsPerSecond()), Seconds>);
static_assert(!Addable<Flops, FlopsPerSecond> && !Divisible<Flops, BytesPerSecond> &&
              !Divisible<Bytes, FlopsPerSecond>);
static_assert(!std::is_convertible_v<double, Seconds> && !std::is_convertible_v<Seconds, double>);

TEST(Units, ArithmeticAcrossDimensions) {
  // 26214400 B / 12.5e9 B/s = 2.097152 ms
  EXPECT_DOUBLE_EQ((25_MiB / 12.5_GBps).value(), 2.097152e-3);
  EXPECT_DOUBLE_EQ((25_MiB / Seconds(2.097152e-3)).value(), 12.5e9);
  EXPECT_DOUBLE_EQ((12.5_GBps * Seconds(2.097152e-3)).value(), 26214400);
  EXPECT_EQ(6_s / 4_s, 1.5);
  EXPECT_EQ(Flops(3e12) / FlopsPerSecond(2e12), 1.5_s);
}

TEST(Units, ArithmeticInsideOneDimension) {
  Seconds total = 3_s;
  total += 2_s;
  total -= 1_s;
  EXPECT_EQ(total, 4_s);
  EXPECT_EQ(3_s - 5_s, Seconds(-2));
  EXPECT_EQ(2 * 3_s / 4, 1.5_s);
  EXPECT_LT(999_us, 1_ms);
  EXPECT_EQ(Seconds(), Seconds(0));
}

TEST(Units, Literals) {
  EXPECT_DOUBLE_EQ((5_us).value(), 5e-6);
  EXPECT_DOUBLE_EQ((1.5_us).value(), 1.5e-6);
  EXPECT_DOUBLE_EQ((3_ms).value(), 3e-3);
  EXPECT_DOUBLE_EQ((2.5_ms).value(), 2.5e-3);
  EXPECT_EQ((1_MiB).value(), 1048576);
  EXPECT_EQ((7_B).value(), 7);
  EXPECT_EQ((300_GBps).value(), 300e9);
}

}  // namespace
}  // namespace ddpsim
