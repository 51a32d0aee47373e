#include "sim/result/metrics.hpp"

#include <gtest/gtest.h>

#include "sim/base/check.hpp"

#include "tests/report/small_case.hpp"

namespace ddpsim::test {
namespace {

TEST(Metrics, TermsOfAPlainIteration) {
  auto m = measure_small({{plain_rank()}});
  EXPECT_DOUBLE_EQ(m.forward.value(), 1);
  EXPECT_DOUBLE_EQ(m.backward_compute.value(), 2);
  EXPECT_EQ(m.interference, Seconds(0));
  EXPECT_EQ(m.overhead, Seconds(0));
  EXPECT_DOUBLE_EQ(m.exposed_communication.value(), 2);  // backward ends at 3, the last bucket at 5
  EXPECT_DOUBLE_EQ(m.optimizer.value(), 0.5);
  EXPECT_DOUBLE_EQ(m.iteration.value(), 5.5);    // 1 + 2 + 2 + 0.5
  EXPECT_DOUBLE_EQ(m.communication.value(), 3);  // 1 + 2
  EXPECT_EQ(m.n_buckets, 2u);
  EXPECT_EQ(m.bucket_cap, Bytes(1024));
  EXPECT_EQ(m.reported_rank, 0);
  EXPECT_EQ(m.algorithm, "ring");
  EXPECT_EQ(m.fidelity, "exact");
}

// Of two in flight at once the time they share counts once.
TEST(Metrics, CommunicationThatOverlaps) {
  auto rank = plain_rank();  // from 2 to 3 s and from 3 to 5 s
  rank.communication[0].end = Seconds(4);
  EXPECT_DOUBLE_EQ(measure_small({{rank}}).communication.value(), 3);
  rank.communication[0].end = Seconds(5);
  rank.communication[1].end = Seconds(4.5);  // within the other
  auto m = measure_small({{rank}});
  EXPECT_DOUBLE_EQ(m.communication.value(), 3);
  EXPECT_DOUBLE_EQ(m.algbw.value(), 1000);  // 3000 B in 3 s
}

// As much as on one GPU that accumulates as often: nothing is exposed, so nothing is lost.
TEST(Metrics, AccumulationWithoutExposedCommunicationIsFullyEfficient) {
  for (int steps : {1, 3}) {
    auto plan = two_buckets();
    plan.accumulation_steps = steps;
    auto rank = plain_rank();
    rank.communication[1].end = Seconds(3);
    rank.compute.erase(rank.compute.begin() + 2);  // the wait for it
    rank.compute.back() = {Activity::optimizer, 0, Seconds(3), Seconds(3.5)};
    for (int step = 1; step < steps; ++step)
      rank.compute.insert(rank.compute.begin(),
                          {{Activity::forward, 0, Seconds(-3 * step), Seconds(1 - 3 * step)},
                           {Activity::backward, 0, Seconds(1 - 3 * step), Seconds(3 - 3 * step)}});
    EXPECT_DOUBLE_EQ(*measure_small({{rank}}, plan).scaling_efficiency, 1) << steps;
  }
}

TEST(Metrics, BandwidthAndThroughput) {
  auto m = measure_small({{plain_rank()}});
  EXPECT_DOUBLE_EQ(m.algbw.value(), 1000);             // 3000 B in 3 s
  EXPECT_DOUBLE_EQ(m.busbw.value(), 1500);             // x 2(4-1)/4
  EXPECT_DOUBLE_EQ(*m.samples_per_s, 16 / 5.5);        // 4 ranks x 4 samples
  EXPECT_DOUBLE_EQ(*m.scaling_efficiency, 3.5 / 5.5);  // one GPU needs 1 + 2 + 0.5
}

TEST(Metrics, BucketTimesCountFromTheBackwardPass) {
  auto m = measure_small({{plain_rank()}});
  ASSERT_EQ(m.buckets.size(), 2u);
  EXPECT_EQ(m.buckets[1].index, 1u);
  EXPECT_EQ(m.buckets[1].bytes, Bytes(2000));
  EXPECT_EQ(m.buckets[1].n_gradients, 1u);
  EXPECT_DOUBLE_EQ(m.buckets[1].ready.value(), 2);  // 3 on the clock, where backward starts at 1
  EXPECT_DOUBLE_EQ(m.buckets[1].start.value(), 2);
  EXPECT_DOUBLE_EQ(m.buckets[1].end.value(), 4);
  EXPECT_FALSE(m.used_parameter_bitmap);
}

TEST(Metrics, ReportsTheRankThatFinishesLast) {
  auto m = measure_small(with_straggler());
  EXPECT_EQ(m.reported_rank, 3);
  EXPECT_DOUBLE_EQ(m.forward.value(), 1.5);
  EXPECT_DOUBLE_EQ(m.backward_compute.value(), 3);
  EXPECT_DOUBLE_EQ(m.exposed_communication.value(), 2);  // the others wait 3.5 s
  EXPECT_DOUBLE_EQ(m.optimizer.value(), 0.75);
  EXPECT_DOUBLE_EQ(m.iteration.value(), 7.25);
  EXPECT_DOUBLE_EQ(m.buckets[0].ready.value(), 1.5);
  EXPECT_DOUBLE_EQ(m.buckets[0].start.value(), 1.5);
  EXPECT_DOUBLE_EQ(*m.scaling_efficiency, 3.5 / 7.25);  // against a GPU without slowdown
}

TEST(Metrics, AccumulationCountsEveryMicroBatch) {
  auto plan = two_buckets();
  plan.accumulation_steps = 2;
  auto rank = plain_rank();  // forward and backward once more before the ones whose gradients are reduced
  rank.compute.insert(rank.compute.begin(), {{Activity::forward, 0, Seconds(-3), Seconds(-2)},
                                             {Activity::backward, 0, Seconds(-2), Seconds(0)}});
  auto m = measure_small({{rank}}, plan);
  EXPECT_DOUBLE_EQ(m.forward.value(), 2);
  EXPECT_DOUBLE_EQ(m.backward_compute.value(), 4);
  EXPECT_DOUBLE_EQ(m.iteration.value(), 8.5);  // from -3 to 5.5
  EXPECT_DOUBLE_EQ(m.buckets[0].ready.value(), 1);
  EXPECT_DOUBLE_EQ(*m.samples_per_s, 32 / 8.5);        // 4 ranks x 4 samples x 2
  EXPECT_DOUBLE_EQ(*m.scaling_efficiency, 6.5 / 8.5);  // 2 x (1 + 2) + 0.5
}

TEST(Metrics, TheBitmapIsCommunicationButNoBucket) {
  auto plan = two_buckets();
  plan.used_parameter_bitmap = Bytes(8);
  auto rank = plain_rank();
  rank.communication.push_back(
      {Activity::used_parameter_bitmap, 0, Seconds(5), Seconds(5.25), Seconds(0), Bytes(8)});
  rank.compute[2].end = Seconds(5.25);
  rank.compute[3] = {Activity::optimizer, 0, Seconds(5.25), Seconds(5.75)};
  auto m = measure_small({{rank}}, plan);
  EXPECT_EQ(m.n_buckets, 2u);
  EXPECT_EQ(m.buckets.size(), 2u);
  EXPECT_DOUBLE_EQ(m.communication.value(), 3.25);
  EXPECT_DOUBLE_EQ(m.algbw.value(), 3008 / 3.25);
  EXPECT_DOUBLE_EQ(m.exposed_communication.value(), 2.25);
  ASSERT_TRUE(m.used_parameter_bitmap);
  EXPECT_EQ(m.used_parameter_bitmap->bytes, Bytes(8));
  EXPECT_DOUBLE_EQ(m.used_parameter_bitmap->ready.value(), 2);  // with the last gradient
  EXPECT_DOUBLE_EQ(m.used_parameter_bitmap->start.value(), 4);
}

TEST(Metrics, ThroughputIsUnknownWithoutABatchSize) {
  auto trace = two_gradients();
  trace.metadata.batch_size.reset();
  auto plan = two_buckets();
  auto m = measure({{plain_rank()}}, {trace, plan, 4, "ring", "exact"});
  EXPECT_FALSE(m.samples_per_s);
  EXPECT_TRUE(m.scaling_efficiency);
}

TEST(Metrics, RefusesTimelinesThatDoNotAddUp) {
  auto gap = plain_rank();
  gap.compute[3] = {Activity::optimizer, 0, Seconds(6), Seconds(6.5)};
  EXPECT_THROW(measure_small({{gap}}), InternalError);
  auto silent = plain_rank();
  silent.communication.clear();
  EXPECT_THROW(measure_small({{silent}}), InternalError);
  auto forgotten = plain_rank();
  forgotten.communication.pop_back();
  EXPECT_THROW(measure_small({{forgotten}}), InternalError);
}

}  // namespace
}  // namespace ddpsim::test
