// Strategies at work on parts of a model: stages of a pipeline, and experts that ranks share. Forward takes
// 1 s and backward 2 s a micro-batch; every collective and message as long as the test says.
#include <gtest/gtest.h>

#include "sim/program/pipeline.hpp"
#include "sim/replay/replay.hpp"
#include "sim/strategies/fsdp.hpp"
#include "sim/strategies/megatron.hpp"
#include "sim/strategies/zero.hpp"

namespace ddpsim::testing {
namespace {

class Constant final : public CollectiveCost {
 public:
  explicit Constant(double seconds) : time_(seconds) {}
  CollectiveDuration alone(Operation, Bytes) override { return {time_, time_}; }

 private:
  Seconds time_;
};

// A block, of which experts' gradients are there half-way through its backward pass.
LayerTrace block() {
  LayerTrace trace;
  trace.forward = Seconds(1);
  trace.optimizer = Seconds(0);
  trace.gradients = {{"h.0.mlp.experts.w", 4096, DType::float32, Seconds(1), {}, Seconds(1)},
                     {"h.0.attn.w", 1024, DType::float32, Seconds(2), {}, Seconds(0.5)}};
  trace.registration_order = {1, 0};
  return trace;
}

struct Job {
  StrategyChoice choice;
  int data = 8;  // ranks that reduce
  int stages = 1, micro_batches = 1;
  double collective = 4;
};

StrategyChoice choice(std::string_view strategy, std::optional<int> expert_shards = {}) {
  StrategyChoice one{.strategy = find_strategy(strategy)};
  one.expert_shards = expert_shards;
  return one;
}

// Programs of alike stages, each of one block.
std::pair<PipelinePlan, std::vector<StepProgram>> programs_of(const Job& job,
                                                              const Overheads& overheads = {}) {
  static const LayerTrace trace = block();
  PipelinePlan plan;
  plan.shape = {PipelineSchedule::one_f_one_b, job.stages, 1, job.micro_batches};
  plan.message = Bytes(1);
  plan.times.assign(static_cast<std::size_t>(job.stages),
                    {ChunkTimes{Seconds(1), {}, Seconds(1), Seconds(1)}});
  for (const auto& use : job.choice.strategy->communicators(job.choice))
    plan.joined.push_back(use.joined == Joined::experts ? job.choice.expert_shards.value_or(1) : job.data);
  std::vector<std::shared_ptr<const StrategyPlan>> plans;
  for (int rank = 0; rank < job.stages; ++rank)
    plans.push_back(job.choice.strategy->plan(
        {.choice = job.choice, .trace = trace, .ranks = job.data, .part = {job.stages, 1, rank == 0}}));
  auto programs = pipeline_programs(plan, overheads, [&](StepBuilder& step, int rank, int) {
    return plans[static_cast<std::size_t>(rank)]->at_work(trace, step);
  });
  return {std::move(plan), std::move(programs)};
}

double took(const Job& job) {
  auto [plan, programs] = programs_of(job);
  auto channels = pipeline_channels(plan);
  Constant message(0), collective(job.collective);
  std::vector<ReplayedClass> classes;
  std::vector<ReplayedCommunicator> communicators(channels.size(), {{{&message}}});
  for (int rank = 0; rank < job.stages; ++rank) {
    auto mine = channels_of_rank(channels, rank, job.stages);
    for (auto& channel : mine)
      if (channels[channel].kind == PipelineChannel::Kind::strategy) {  // each stage has its own
        channel = communicators.size();
        communicators.push_back({{{&collective}}});
      }
    classes.push_back({&programs[static_cast<std::size_t>(rank)].program, 1, Seconds(), mine});
  }
  auto network = make_timer_network();
  auto result = replay(classes, communicators, {}, *network);
  Seconds end;
  for (const auto& one : result.classes) end = std::max(end, one.ended.back());
  return end.value();
}

// Each on its own communicator: experts' gradients from 2 to 6 s, all others' from 3 to 7 s.
TEST(Parts, ExpertsAreReducedBesideAllElse) {
  for (auto [data, experts, seconds] : {std::tuple(8, 2, 7.0), {8, 1, 7.0}, {1, 2, 6.0}})
    EXPECT_DOUBLE_EQ(took({.choice = choice("ddp", experts), .data = data}), seconds) << data << experts;
  // All ranks have all of them: one bucket, at the end.
  EXPECT_DOUBLE_EQ(took({.choice = choice("ddp")}), 7);
  auto apart = choice("ddp");
  apart.ddp.bucket_cap = Bytes(1);
  EXPECT_DOUBLE_EQ(took({.choice = apart}), 10);  // one after the other
}

// A flat buffer each, when the pass has ended.
TEST(Parts, FlatBuffersOfExperts) {
  EXPECT_DOUBLE_EQ(took({.choice = choice("flat", 2)}), 7);
  EXPECT_DOUBLE_EQ(took({.choice = choice("flat", 2), .collective = 0}), 3);
}

// ZeRO 1 waits for one reduction before it launches the next, ZeRO 2 too; all are gathered once each after
// the optimizer: 3 + 2 x 4 + 2 x 4, and of ZeRO 2 the experts' reduction is full when another bucket is.
TEST(Parts, ZerosExperts) {
  EXPECT_DOUBLE_EQ(took({.choice = choice("zero1", 2)}), 3 + 4 * 4);
  EXPECT_DOUBLE_EQ(took({.choice = choice("zero2", 2)}), 3 + 4 * 4);
  EXPECT_DOUBLE_EQ(took({.choice = choice("zero1", 1)}), 3 + 2 * 4);
  // Two micro-batches: ZeRO 2 reduces each.
  EXPECT_DOUBLE_EQ(took({.choice = choice("zero1", 2), .micro_batches = 2}), 6 + 4 * 4);
  EXPECT_DOUBLE_EQ(took({.choice = choice("zero2", 2), .micro_batches = 2}), 6 + 6 * 4);
}

// A buffer of experts and one of all else: both are gathered as the forward pass asks for them, the block's
// first, and reduced as they are whole, each on its own communicator.
TEST(Parts, MegatronsExperts) {
  auto one = choice("megatron", 2);
  // Attention's gather to 4, its half of the pass to 4.5, the experts' to 8.5, to 9; backward to 11, the
  // experts reduced from 10 to 14, all else to 15.
  EXPECT_DOUBLE_EQ(took({.choice = one}), 15);
  const MegatronPlan plan({.choice = one, .trace = block(), .ranks = 8}, {});
  ASSERT_EQ(plan.buckets.size(), 2U);
  EXPECT_TRUE(plan.buckets[0].of_experts);
  EXPECT_EQ(plan.buckets[0].elements, 4096);  // padded to 128 for 2 ranks as for 8
  // 1,024 elements over 8 ranks and 4,096 over 2: a rank steps 2,176 of 5,120.
  EXPECT_DOUBLE_EQ(plan.ranks_that_step(block()), 5120.0 / 2176);
}

// Without a pipeline FSDP gathers a block's experts beside it; with one all is gathered as the step begins
// and reduced when it ends.
TEST(Parts, FsdpHoldsStagesGathered) {
  auto one = choice("fsdp", 2);
  // Two stages, two micro-batches: units are gathered one after the other on a stream, from 0 to 8, with half
  // of the first pass between them; 1F1B of stages that take 3 s, with one micro-batch more than there are;
  // then two reductions.
  EXPECT_DOUBLE_EQ(took({.choice = one, .stages = 2, .micro_batches = 2}), 8 - 0.5 + 3 * 3 + 2 * 4);
  for (const auto& step : programs_of({.choice = one, .stages = 2, .micro_batches = 4}).second) {
    EXPECT_EQ(std::ranges::count(step.program.ops, Operation::all_gather, &Op::operation), 2);
    EXPECT_EQ(std::ranges::count(step.program.ops, Activity::copy_out, &Op::activity),
              3);  // the root is empty
  }
}

// ZeRO 1's stages reduce after the last pass, even with overlap_comm.
TEST(Parts, ZerosStagesReduceAtTheEnd) {
  auto one = choice("zero1");
  one.sections.of<ZeroOptions>().overlap_comm = true;
  EXPECT_DOUBLE_EQ(took({.choice = one, .stages = 2, .micro_batches = 2}), 3 * 3 + 2 * 4);
}

// Megatron's stages gather as their first forward pass asks, which waits for the one before: 4 s twice, and
// the reductions of both at once.
TEST(Parts, MegatronsStagesGatherInTurn) {
  EXPECT_DOUBLE_EQ(took({.choice = choice("megatron"), .stages = 2, .micro_batches = 2}), 2 * 4 + 3 * 3 + 4);
}

// Interleaved, two ranks of two chunks, four micro-batches: backward passes of the chunks come 1 1 0 0 1 1 0
// 0. The first rank reduces after the sixth and the eighth; the second, whose passes come one earlier, a pass
// later, or as it ends.
TEST(Parts, MegatronsPipelineReducesTogether) {
  static const LayerTrace trace = block();
  auto one = choice("megatron");
  PipelinePlan plan;
  plan.shape = {PipelineSchedule::interleaved, 2, 2, 4};
  plan.messages = MessageOverlap::overlapped;
  plan.message = Bytes(1);
  plan.times.assign(2, {2, ChunkTimes{Seconds(1), {}, Seconds(1), Seconds(1)}});
  plan.joined = {8};
  auto of_chunk = one.strategy->plan({.choice = one, .trace = trace, .ranks = 8, .part = {4, 2, false}});
  auto programs = pipeline_programs(
      plan, {}, [&](StepBuilder& step, int, int) { return of_chunk->at_work(trace, step); });
  auto passes_before_reductions = [](const StepProgram& step) {
    std::vector<int> before;
    int passes = 0;
    for (const auto& op : step.program.ops) {
      passes += op.kind == Op::Kind::compute && op.activity == Activity::backward;
      if (op.kind == Op::Kind::collective && op.operation == Operation::reduce_scatter)
        before.push_back(passes);
    }
    return before;
  };
  EXPECT_EQ(passes_before_reductions(programs[0]), (std::vector<int>{6, 8}));
  EXPECT_EQ(passes_before_reductions(programs[1]), (std::vector<int>{7, 8}));
}

// A copy into the bucket and one out of it, of the last micro-batch, whatever the schedule.
TEST(Parts, StagesHaveTheirCopies) {
  Overheads overheads;
  overheads.pass_bandwidth = BytesPerSecond(1e9);
  overheads.passes = overheads.passes_of_one = {1, 1};
  auto copies = [](const StepProgram& step, Activity activity) {
    Seconds sum;
    for (const auto& op : step.program.ops)
      if (op.activity == activity) sum += op.duration;
    return sum.value();
  };
  double pass = 2 * 4 * 5120.0 / 1e9;
  for (const auto& step :
       programs_of({.choice = choice("ddp"), .stages = 2, .micro_batches = 3}, overheads).second) {
    EXPECT_NEAR(copies(step, Activity::copy_in), pass, 1e-15);
    EXPECT_NEAR(copies(step, Activity::copy_out), pass, 1e-15);
  }
  // Megatron divides.
  for (const auto& step : programs_of({.choice = choice("megatron"), .stages = 2}, overheads).second)
    EXPECT_NEAR(copies(step, Activity::copy_in), pass, 1e-15);
}

// The matrix that the ends share closes the bucket before it, and is one of its own: 64 of 3 x 10 elements.
TEST(Parts, MegatronsTiedMatrix) {
  auto one = choice("megatron");
  LayerTrace trace = block();
  trace.gradients.push_back({"wte.weight", 512, DType::float32, Seconds(2), {}, Seconds(0)});
  trace.registration_order = {2, 1, 0};
  auto buckets = [&](std::optional<std::size_t> tied) {
    std::vector<std::int64_t> elements;
    for (const auto& bucket :
         MegatronPlan({.choice = one, .trace = trace, .ranks = 8, .part = {2, 1, true, tied}}, {}).buckets)
      elements.push_back(bucket.elements);
    return elements;
  };
  EXPECT_EQ(buckets({}), (std::vector<std::int64_t>{5632}));
  EXPECT_EQ(buckets(2), (std::vector<std::int64_t>{5120, 512}));
}

}  // namespace
}  // namespace ddpsim::testing
