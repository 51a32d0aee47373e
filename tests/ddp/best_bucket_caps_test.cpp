// The best list of caps: by hand, and against every partition there is.
#include "sim/ddp/best_bucket_caps.hpp"

#include <random>

#include <gtest/gtest.h>

#include "sim/ddp/bucket_assignment.hpp"
#include "sim/ddp/ddp_rules.hpp"

namespace ddpsim::testing {
namespace {

using Ends = std::vector<std::size_t>;

struct Case {
  std::vector<Bytes> tensors;
  std::vector<Seconds> ready;
};

Case of(const std::vector<double>& bytes, const std::vector<double>& ready) {
  Case made;
  for (double one : bytes) made.tensors.emplace_back(one);
  for (double one : ready) made.ready.emplace_back(one);
  return made;
}

// Start-up of 2 s, one byte a second.
Seconds two_and_bytes(Bytes bytes) {
  return Seconds(2 + bytes.value());
}

Seconds end_of(const Case& one, const Ends& ends, const std::function<Seconds(Bytes)>& time) {
  Seconds now, ready;
  std::size_t tensor = 0;
  for (auto end : ends) {
    Bytes bytes;
    for (; tensor < end; ++tensor) {
      bytes += one.tensors[tensor];
      ready = std::max(ready, one.ready[tensor]);
    }
    now = std::max(now, ready) + time(bytes);
  }
  return now;
}

// Three tensors of 4 B at 0, 1 and 10 s. One each: 6, 12, 18. First two together: 1 + 10, 17. The last two
// together: 6, then 10 + 10. The second waits anyway, so it goes with the first and ends at 11.
TEST(BestBuckets, ByHand) {
  auto one = of({4, 4, 4}, {0, 1, 10});
  auto ends = best_buckets(one.tensors, one.ready, two_and_bytes);
  EXPECT_EQ(ends, (Ends{2, 3}));
  EXPECT_EQ(end_of(one, ends, two_and_bytes), Seconds(17));
}

// The first two at once, 10, then 10.5 + 6 and 17 + 3. A cap of 4 B or less reduces all four one by one and
// ends at 18 + 3, one of 8 takes the last two together, 17 + 7, larger ones end at 10.5 + 14 and later.
TEST(BestBuckets, NoSingleCapIsAsGood) {
  auto one = of({4, 4, 4, 1}, {0, 0, 10.5, 17});
  auto ends = best_buckets(one.tensors, one.ready, two_and_bytes);
  EXPECT_EQ(end_of(one, ends, two_and_bytes), Seconds(20));
  EXPECT_EQ(ends, (Ends{2, 3, 4}));
  EXPECT_EQ(caps_of_buckets(one.tensors, ends), (std::vector{Bytes(8), Bytes(4)}));
}

// Whole MiB where a cap of them gives the same buckets, and one for all that follow.
TEST(CapsOfBuckets, AreRound) {
  const Bytes mib(0x1p20);
  std::vector<Bytes> tensors{2.5 * mib, 2.5 * mib, 2.5 * mib, 1.25 * mib, 1.125 * mib};
  EXPECT_EQ(caps_of_buckets(tensors, Ends{2, 3, 4, 5}), (std::vector{5 * mib, mib}));
  EXPECT_EQ(caps_of_buckets(tensors, Ends{1, 2, 3, 5}), (std::vector{2 * mib}));
  EXPECT_EQ(caps_of_buckets(std::vector{Bytes(3), Bytes(9)}, Ends{1, 2}), (std::vector{Bytes(3)}));
}

// Every partition of up to ten random tensors, under a cost that is not even concave: none ends earlier. And
// PyTorch's walk makes the very buckets of the caps.
TEST(BestBuckets, AgainstEveryPartition) {
  std::mt19937 random(7);
  auto below = [&](unsigned n) { return static_cast<double>(random() % n); };
  for (int i = 0; i < 500; ++i) {
    Case one;
    auto n = 1 + random() % 10;
    double now = 0;
    for (std::size_t k = 0; k < n; ++k) {
      one.tensors.emplace_back(1 + below(50));
      now += below(30);
      one.ready.emplace_back(random() % 5 == 0 ? now / 2 : now);  // some are not in order
    }
    double start = below(40), step = below(60), rate = 0.2 + below(3);
    auto time = [&](Bytes bytes) {
      return Seconds(start + bytes.value() * rate + (bytes > Bytes(60) ? step : 0));
    };
    auto ends = best_buckets(one.tensors, one.ready, time);
    auto best = end_of(one, ends, time);
    for (unsigned cuts = 0; cuts < 1U << (n - 1); ++cuts) {
      Ends other;
      for (std::size_t k = 0; k + 1 < n; ++k)
        if (cuts >> k & 1U) other.push_back(k + 1);
      other.push_back(n);
      ASSERT_LE(best, end_of(one, other, time)) << "case " << i;
    }
    std::vector<NumberedTensor> tensors;
    for (std::size_t k = 0; k < n; ++k) tensors.push_back({k, one.tensors[k], DType::float32});
    auto caps = caps_of_buckets(one.tensors, ends);
    TensorWalk walk(tensors);
    Ends assigned;
    for (const auto& bucket : walk.assign(caps, BucketOrder::as_closed))
      assigned.push_back((assigned.empty() ? 0 : assigned.back()) + bucket.tensors.size());
    ASSERT_EQ(assigned, ends) << "case " << i;
  }
}

}  // namespace
}  // namespace ddpsim::testing
