// docs/model.md, "Which bucket size is best": for a uniform backward pass (L equal layers, B bytes, G
// seconds) and a(x) = A + x / W with A = 2 (N-1) alpha and W = beta N / (2 (N-1)),
//   T(b) = max(G b/B + (B/b) a(b), G + a(b)),  best b = min(B sqrt(A/G), A B / (G - B/W), B).
#include <gtest/gtest.h>

#include "tests/engine/scenarios.hpp"

namespace ddpsim::testing {
namespace {

constexpr int kLayers = 5040;  // divisible by many bucket counts

struct Uniform {
  double bytes = 5040e5;  // B: 100 kB a layer
  double backward = 0.5;  // G
  int ranks = 64;
  double alpha = 5e-6;
  double beta = 12.5e9;

  [[nodiscard]] double a_latency() const { return 2 * (ranks - 1) * alpha; }
  [[nodiscard]] double wire() const { return beta * ranks / (2.0 * (ranks - 1)); }
  [[nodiscard]] double a(double x) const { return a_latency() + x / wire(); }
  [[nodiscard]] double time(double b) const {
    return std::max(backward * b / bytes + bytes / b * a(b), backward + a(b));
  }
  [[nodiscard]] double best_bucket() const {
    double slack = backward - bytes / wire();  // negative: the links cannot keep up
    double queueing = bytes * std::sqrt(a_latency() / backward);
    double keeping_up = slack > 0 ? a_latency() * bytes / slack : bytes;
    return std::min({queueing, keeping_up, bytes});
  }

  [[nodiscard]] double simulated(int layers_a_bucket) const {
    LayerTrace trace;
    for (int i = 0; i < kLayers; ++i) {
      Gradient gradient;
      gradient.name = "l" + std::to_string(i);
      gradient.elements = std::llround(bytes / kLayers / 4);
      gradient.ready = Seconds(backward * (i + 1) / kLayers);
      trace.gradients.push_back(gradient);
      trace.registration_order.insert(trace.registration_order.begin(), static_cast<std::size_t>(i));
    }
    RingLink link{alpha * 1e6, beta / 1e9};
    auto scenario = make_scenario(trace, std::vector<RingLink>(static_cast<std::size_t>(ranks), link),
                                  Reducer::ddp, cap(Bytes(layers_a_bucket * bytes / kLayers)));
    return closed_form(scenario).last_to_finish().communication.back().end.value();
  }
};

// Every number of layers a bucket that divides the model evenly: the equation assumes equal buckets.
std::vector<int> even_splits() {
  std::vector<int> splits;
  for (int n = 1; n <= kLayers; ++n)
    if (kLayers % n == 0) splits.push_back(n);
  return splits;
}

void expect_equation_holds(const Uniform& model) {
  int best = 0;
  double shortest = 1e9;
  for (int layers : even_splits()) {
    double simulated = model.simulated(layers);
    ASSERT_NEAR(simulated, model.time(layers * model.bytes / kLayers), simulated * 1e-9)
        << layers << " layers a bucket";
    if (simulated < shortest) shortest = simulated, best = layers;
  }
  // The best even split is a neighbour of the equation's best bucket (splits are at most a factor 2 apart).
  double found = best * model.bytes / kLayers;
  EXPECT_LT(found, 2 * model.best_bucket());
  EXPECT_GT(found, model.best_bucket() / 2);
  EXPECT_GE(shortest * (1 + 1e-12), model.time(model.best_bucket()));
}

// B = 504 MB over W = 6.35 GB/s takes 79 ms of 500 ms: the links keep up; best b = A B / (G - B/W) = .63 ms /
// .421 s of B.
TEST(BestBucket, LinksThatKeepUp) {
  expect_equation_holds(Uniform{});
}

TEST(BestBucket, LinksThatDoNot) {
  Uniform model;
  model.beta = 1e9;  // B/W = 992 ms against 500 ms
  expect_equation_holds(model);
}

TEST(BestBucket, LatencyAtAThousandRanks) {
  Uniform model;
  model.ranks = 1024;
  expect_equation_holds(model);
}

TEST(BestBucket, OneBucketWhenLatencyIsEverything) {
  Uniform model;
  model.ranks = 16384;
  model.alpha = 100e-6;  // A = 3.3 s for a backward pass of half a second
  expect_equation_holds(model);
  EXPECT_EQ(model.best_bucket(), model.bytes);
}

TEST(BestBucket, MovesWithModelLatencyAndBandwidthAsTheEquationSays) {
  Uniform slow;
  slow.beta = 1e9;
  Uniform twice_the_model = slow, four_times_the_latency = slow, half_the_bandwidth = slow;
  twice_the_model.bytes *= 2;
  four_times_the_latency.alpha *= 4;
  half_the_bandwidth.beta /= 2;
  EXPECT_NEAR(twice_the_model.best_bucket() / slow.best_bucket(), 2, 1e-9);         // proportional to B
  EXPECT_NEAR(four_times_the_latency.best_bucket() / slow.best_bucket(), 2, 1e-9);  // to sqrt(alpha)
  EXPECT_NEAR(half_the_bandwidth.best_bucket() / slow.best_bucket(), 1,
              1e-9);  // not to beta, once the links are late
  Uniform fast, faster;
  faster.beta *= 4;
  EXPECT_LT(faster.best_bucket(),
            fast.best_bucket());  // while they keep up, a faster link wants smaller buckets
}

}  // namespace
}  // namespace ddpsim::testing
