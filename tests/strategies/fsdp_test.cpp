// FSDP's steps as programs, derived by hand from who waits for whom (sim/strategies/fsdp.hpp).
#include "sim/strategies/fsdp.hpp"

#include <array>
#include <numeric>

#include <gtest/gtest.h>

#include "tests/program/two_blocks.hpp"

namespace ddpsim::testing {
namespace {

struct Sharded {
  FsdpKind kind;
  int replicas = 1;
  bool operator==(const Sharded&) const = default;
};
constexpr Sharded kFsdp{FsdpKind::fsdp2}, kFsdp1{FsdpKind::fsdp1}, kHsdp{FsdpKind::fsdp2, 4},
    kHsdp1{FsdpKind::fsdp1, 4};

FsdpPlan plan_of(const LayerTrace& trace, const Sharded& by, const FsdpOptions& options = {}) {
  return make_fsdp_plan(trace, by.kind, options, 8, by.replicas);
}

std::string text_of(const Sharded& by, const FsdpOptions& options = {}, int accumulation_steps = 1,
                    const Overheads& overheads = {}) {
  auto trace = two_blocks();
  return program_text(plan_of(trace, by, options).program(trace, accumulation_steps, overheads).program);
}

TEST(ShardUnits, BlocksAndTheRoot) {
  auto trace = two_blocks();
  auto units = shard_units(trace, {});
  ASSERT_EQ(units.size(), 3U);
  EXPECT_EQ(units[0].name, "root");
  EXPECT_EQ(units[0].gradients, (std::vector<std::size_t>{0, 5}));
  EXPECT_EQ(units[1].name, "h.0");
  EXPECT_EQ(units[1].gradients, (std::vector<std::size_t>{3, 4}));
  EXPECT_EQ(units[2].name, "h.1");
  EXPECT_EQ(units[2].elements, 2 << 20);
}

std::vector<std::string> names_of(const std::vector<ShardUnit>& units) {
  std::vector<std::string> names;
  for (const auto& unit : units) names.push_back(unit.name);
  return names;
}

// As fully_shard() of each of these modules: what is in none is the root's; of modules within one another the
// inner one has the parameters.
TEST(ShardUnits, ModulesByName) {
  auto units = [](std::vector<std::string> patterns) {
    UnitRule rule;
    rule.names = std::move(patterns);
    return shard_units(two_blocks(), rule);
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(names_of(units({"h.*"})), (Names{"root", "h.0", "h.1"}));
  EXPECT_EQ(names_of(units({"h.1"})), (Names{"root", "h.1"}));
  EXPECT_EQ(names_of(units({"fc"})), (Names{"root", "h.0.fc", "h.1.fc"}));
  EXPECT_EQ(names_of(units({"h.*", "wte"})), (Names{"root", "wte", "h.0", "h.1"}));
  auto nested = units({"h.*", "h.*.attn"});
  EXPECT_EQ(names_of(nested), (Names{"root", "h.0.attn", "h.0", "h.1.attn", "h.1"}));
  EXPECT_EQ(nested[2].gradients, std::vector<std::size_t>{3});
  EXPECT_EQ(nested[0].gradients, (std::vector<std::size_t>{0, 5}));
  for (auto pattern : {"f", "h.0.f*x", "h.2", "*.h.0", "weight"})
    EXPECT_THROW(units({"h.1", pattern}), InputError) << pattern;
}

// Units by name that are the blocks are the blocks.
TEST(ShardUnits, BlocksByNameAreTheBlocks) {
  FsdpOptions by_name;
  by_name.units.names = {"h.*"};
  for (const auto& strategy : {kFsdp, kFsdp1, kHsdp})
    EXPECT_EQ(text_of(strategy, by_name), text_of(strategy));
}

// 1 MiB/s: a shard of a block, an eighth of 2 Mi float32 elements, takes 1 s before each gather and after its
// reduction, the root's 4 KiB of norm and 2 MiB 2.0005 s. Eight ranks step 1 Mi parameters a second together.
TEST(Fsdp, OffloadsToTheHost) {
  FsdpOptions options;
  options.cpu_offload = true;
  auto plan = plan_of(two_blocks(), kFsdp1, options);
  plan.host = {BytesPerSecond(0x1p20), 0x1p20, 8};
  auto program = plan.program(two_blocks(), 1, {}).program;
  std::vector<double> gathers, reductions;
  for (const auto& op : program.ops) {
    if (op.activity == Activity::all_gather) gathers.push_back(op.duration.value());
    if (op.activity == Activity::reduce_scatter) reductions.push_back(op.duration.value());
  }
  double root = (4 * 0x1p20 + 1024) * 4 / 8 / 0x1p20;
  EXPECT_EQ(gathers, (std::vector<double>{root, 1, 1, 1, 1}));
  EXPECT_EQ(reductions, (std::vector<double>{1, 1, root}));
  EXPECT_DOUBLE_EQ(program.ops.back().duration.value(), (8 * 0x1p20 + 1024) / 0x1p20);
}

TEST(ShardUnits, SeveralBlocksAUnit) {
  auto trace = two_blocks();
  UnitRule two;
  two.blocks = 2;
  auto units = shard_units(trace, two);
  ASSERT_EQ(units.size(), 2U);
  EXPECT_EQ(units[1].gradients, (std::vector<std::size_t>{1, 2, 3, 4}));
  UnitRule bytes;
  bytes.bytes = Bytes(1);
  EXPECT_EQ(shard_units(trace, bytes).size(), 3U);
  bytes.bytes = Bytes(8 * 0x1p20 + 1);  // more than a block
  EXPECT_EQ(shard_units(trace, bytes).size(), 2U);
}

TEST(ShardUnits, PassesAddUp) {
  auto trace = two_blocks();
  auto units = shard_units(trace, {});
  auto in_words = [](const std::vector<UnitPass>& passes) {
    std::vector<std::pair<std::size_t, double>> words;
    for (const auto& pass : passes) words.emplace_back(pass.unit, pass.duration.value());
    return words;
  };
  using Words = std::vector<std::pair<std::size_t, double>>;
  EXPECT_EQ(in_words(forward_passes(trace, units)), (Words{{0, 0.5}, {1, 1}, {2, 1}, {0, 0.5}}));
  EXPECT_EQ(in_words(backward_passes(trace, units)), (Words{{0, 1}, {2, 2}, {1, 3}, {0, 1}}));
}

// The gather of block 1 waits for the root's copy out of its buffer, and so does that of block 0 in the
// backward pass for block 1's in the forward pass: block 1 was kept. The copy into the buffer of each
// reduce-scatter waits for the one before. 16-bit parameters: the root's 4 Mi + 1 Ki elements are 8.002 MiB.
TEST(Fsdp, Fsdp2AsItsSourcesHaveIt) {
  EXPECT_EQ(text_of(kFsdp),
            "0 all_gather 0: all_gather of 8.002 MiB on 0\n"
            "1 copy_out 0: 0 s, after 0\n"
            "2 forward 0: 500 ms\n"
            "3 all_gather 1: all_gather of 4 MiB on 0\n"
            "4 copy_out 1: 0 s, after 3\n"
            "5 forward 0: 1 s\n"
            "6 all_gather 2: all_gather of 4 MiB on 0, after 1\n"
            "7 copy_out 2: 0 s, after 6\n"
            "8 forward 0: 1 s\n"
            "9 forward 0: 500 ms\n"
            "10 backward 0: 1 s\n"
            "11 all_gather 1: all_gather of 4 MiB on 0, after 7\n"
            "12 backward 0: 2 s\n"
            "13 copy_in 0: 0 s\n"
            "14 reduce_scatter 0: reduce_scatter of 8 MiB on 0, after 13\n"
            "15 copy_out 1: 0 s, after 11\n"
            "16 backward 0: 3 s\n"
            "17 copy_in 1: 0 s, after 14\n"
            "18 reduce_scatter 1: reduce_scatter of 8 MiB on 0, after 17\n"
            "19 backward 0: 1 s\n"
            "20 copy_in 2: 0 s, after 18\n"
            "21 reduce_scatter 2: reduce_scatter of 16 MiB on 0, after 20\n"
            "22 optimizer 0: 100 ms, after 21\n");
}

// As fully_shard does of itself: block 1 is gathered again before the head's backward pass, after its copy in
// the forward pass; then block 0 after block 1's copy in the backward pass.
TEST(Fsdp, Fsdp2ThatReshardsTheLastUnit) {
  FsdpOptions options;
  options.reshard_last = true;
  auto text = text_of(kFsdp, options);
  EXPECT_NE(text.find("10 all_gather 2: all_gather of 4 MiB on 0, after 7\n"
                      "11 backward 0: 1 s\n"
                      "12 copy_out 2: 0 s, after 10\n"
                      "13 all_gather 1: all_gather of 4 MiB on 0, after 12\n"
                      "14 backward 0: 2 s\n"),
            std::string::npos)
      << text;
}

// As FSDP2, and after each reduce-scatter an all-reduce of a rank's eighth on the second communicator, for
// which only the optimizer waits.
TEST(Fsdp, HybridAsItsSourcesHaveIt) {
  EXPECT_EQ(text_of(kHsdp),
            "0 all_gather 0: all_gather of 8.002 MiB on 0\n"
            "1 copy_out 0: 0 s, after 0\n"
            "2 forward 0: 500 ms\n"
            "3 all_gather 1: all_gather of 4 MiB on 0\n"
            "4 copy_out 1: 0 s, after 3\n"
            "5 forward 0: 1 s\n"
            "6 all_gather 2: all_gather of 4 MiB on 0, after 1\n"
            "7 copy_out 2: 0 s, after 6\n"
            "8 forward 0: 1 s\n"
            "9 forward 0: 500 ms\n"
            "10 backward 0: 1 s\n"
            "11 all_gather 1: all_gather of 4 MiB on 0, after 7\n"
            "12 backward 0: 2 s\n"
            "13 copy_in 0: 0 s\n"
            "14 reduce_scatter 0: reduce_scatter of 8 MiB on 0, after 13\n"
            "15 all_reduce 0: all_reduce of 1 MiB on 1, after 14\n"
            "16 copy_out 1: 0 s, after 11\n"
            "17 backward 0: 3 s\n"
            "18 copy_in 1: 0 s, after 14\n"
            "19 reduce_scatter 1: reduce_scatter of 8 MiB on 0, after 18\n"
            "20 all_reduce 1: all_reduce of 1 MiB on 1, after 19\n"
            "21 backward 0: 1 s\n"
            "22 copy_in 2: 0 s, after 19\n"
            "23 reduce_scatter 2: reduce_scatter of 16 MiB on 0, after 22\n"
            "24 all_reduce 2: all_reduce of 2 MiB on 1, after 23\n"
            "25 optimizer 0: 100 ms, after 23 24\n");
}

// Gathers stay on the first, reductions have the second, copies the third.
TEST(Fsdp, CommunicatorsOfTheirOwn) {
  FsdpOptions two;
  two.communicators = 2;
  auto trace = two_blocks();
  for (const auto& strategy : {kFsdp, kFsdp1, kHsdp, kHsdp1}) {
    int replicas = strategy.replicas;
    auto program = plan_of(trace, strategy, two).program(trace, 1, {}).program;
    EXPECT_EQ(program.communicators, replicas > 1 ? 3U : 2U);
    for (const auto& op : program.ops) {
      if (op.kind == Op::Kind::compute) continue;
      bool is_gather = op.operation == Operation::all_gather;
      bool is_reduction = op.operation == Operation::reduce_scatter;
      EXPECT_EQ(op.communicator, is_gather ? 0U : is_reduction ? 1U : 2U);
    }
    two.communicators = 1;
    auto one = plan_of(trace, strategy, two).program(trace, 1, {}).program;
    two.communicators = 2;
    for (auto* both : {&program, &one})
      for (auto& op : both->ops) op.communicator = 0;
    EXPECT_EQ(one.ops, program.ops);
  }
}

// Of each step FSDP1's host leaves four freed units without waiting for them: block 1 of forward and of
// backward, block 0, the root. It waits for the oldest wherever there are two, before each gather and the
// root's backward pass. So blocks 0 and 1 are gathered at once; then there are the root's of the step before
// and those of the forward passes of block 0 (op 5) and 1 (op 8): before the root's backward pass goes the
// first, before the gather of block 1 op 5, and before that of block 0 only one is left. Nothing waits for a
// reduce-scatter but the optimizer. All in 32 bits: no cast.
TEST(Fsdp, Fsdp1LimitsItsGathers) {
  FsdpOptions options;
  options.param_dtype = DType::float32;
  EXPECT_EQ(text_of(kFsdp1, options),
            "0 all_gather 0: all_gather of 16 MiB on 0\n"
            "1 copy_out 0: 0 s, after 0\n"
            "2 forward 0: 500 ms\n"
            "3 all_gather 1: all_gather of 8 MiB on 0\n"
            "4 copy_out 1: 0 s, after 3\n"
            "5 forward 0: 1 s\n"
            "6 all_gather 2: all_gather of 8 MiB on 0\n"
            "7 copy_out 2: 0 s, after 6\n"
            "8 forward 0: 1 s\n"
            "9 forward 0: 500 ms\n"
            "10 all_gather 2: all_gather of 8 MiB on 0, after 5\n"
            "11 backward 0: 1 s\n"
            "12 copy_out 2: 0 s, after 10\n"
            "13 all_gather 1: all_gather of 8 MiB on 0, after 5\n"
            "14 backward 0: 2 s\n"
            "15 reduce_scatter 0: reduce_scatter of 8 MiB on 0, after 14\n"
            "16 copy_out 1: 0 s, after 13\n"
            "17 backward 0: 3 s\n"
            "18 reduce_scatter 1: reduce_scatter of 8 MiB on 0, after 17\n"
            "19 backward 0: 1 s\n"
            "20 reduce_scatter 2: reduce_scatter of 16 MiB on 0, after 19\n"
            "21 optimizer 0: 100 ms, after 20\n");
}

std::size_t count(const Program& program, Operation operation) {
  return static_cast<std::size_t>(std::count_if(program.ops.begin(), program.ops.end(), [&](const Op& op) {
    return op.kind == Op::Kind::collective && op.operation == operation;
  }));
}

// ZeRO-2: gathered once a micro batch. Accumulation: gathered in each, reduced in each or in the last.
TEST(Fsdp, HowOftenItCommunicates) {
  auto trace = two_blocks();
  auto program = [&](const Sharded& strategy, bool reshards, bool reduces_each, int steps) {
    FsdpOptions options;
    options.reshard_after_forward = reshards;
    options.reduce_every_micro_batch = reduces_each;
    return plan_of(trace, strategy, options).program(trace, steps, {}).program;
  };
  for (const auto& strategy : {kFsdp, kFsdp1}) {
    EXPECT_EQ(count(program(strategy, false, true, 1), Operation::all_gather), 3U);
    EXPECT_EQ(count(program(strategy, true, true, 1), Operation::all_gather), strategy == kFsdp ? 4U : 5U);
    EXPECT_EQ(count(program(strategy, false, true, 4), Operation::all_gather), 12U);
    EXPECT_EQ(count(program(strategy, false, true, 4), Operation::reduce_scatter), 12U);
    EXPECT_EQ(count(program(strategy, false, false, 4), Operation::reduce_scatter), 3U);
    // SHARD_GRAD_OP under no_sync keeps its units gathered.
    EXPECT_EQ(count(program(strategy, false, false, 4), Operation::all_gather), strategy == kFsdp ? 12U : 3U);
    check_program(program(strategy, true, true, 4));
  }
}

// Compute is the trace's, whatever is gathered when.
TEST(Fsdp, ComputesWhatTheTraceSays) {
  auto trace = two_blocks();
  for (const auto& strategy : {kFsdp, kFsdp1}) {
    Seconds sum;
    for (const auto& op : plan_of(trace, strategy, {}).program(trace, 1, {}).program.ops)
      if (op.kind == Op::Kind::compute) sum += op.duration;
    EXPECT_DOUBLE_EQ(sum.value(), 3 + 7 + 0.8 / 8);
  }
}

// 8 MiB moved at 1 GiB/s and 10 us to launch it: a block's 4 MiB are read and written.
TEST(Fsdp, CopiesWhereTheyCost) {
  Overheads overheads;
  overheads.pass_bandwidth = BytesPerSecond(0x1p30);
  overheads.pass_launch = Seconds(10e-6);
  overheads.passes = {1, 1};
  auto text = text_of(kFsdp, {}, 1, overheads);
  EXPECT_NE(text.find("copy_out 1: 7.8225 ms, after 3\n"), std::string::npos) << text;
  // 4 MiB read, 8 MiB written.
  EXPECT_NE(text.find("copy_in 0: 11.7287 ms\n"), std::string::npos) << text;
}

TEST(Fsdp, ItsBucketsAreItsUnits) {
  auto trace = two_blocks();
  auto plan = plan_of(trace, kFsdp, {});
  auto reduction = plan.reductions(trace, 1);
  ASSERT_EQ(reduction.buckets.size(), 3U);
  EXPECT_EQ(reduction.buckets[0].wire, Bytes(8 * 0x1p20));  // block 1
  EXPECT_TRUE(std::ranges::equal(reduction.buckets[2].gradients, plan.units[0].gradients));
}

// A model whose names have no numbers is one unit: gathered before, reduced after.
TEST(Fsdp, OneUnit) {
  auto trace = two_blocks();
  for (auto& gradient : trace.gradients)
    gradient.name = std::string(1, static_cast<char>('a' + (&gradient - trace.gradients.data())));
  auto plan = plan_of(trace, kFsdp, {});
  EXPECT_EQ(plan.units.size(), 1U);
  EXPECT_EQ(program_text(plan.program(trace, 1, {}).program),
            "0 all_gather 0: all_gather of 16 MiB on 0\n"
            "1 copy_out 0: 0 s, after 0\n"
            "2 forward 0: 3 s\n"
            "3 backward 0: 7 s\n"
            "4 copy_in 0: 0 s\n"
            "5 reduce_scatter 0: reduce_scatter of 32 MiB on 0, after 4\n"
            "6 optimizer 0: 100 ms, after 5\n");
}

// Each block's matrix after attention is that of its experts, which two ranks have: units embedding and norm,
// h.0, its experts, h.1, its experts. Forward all are gathered, the experts on a communicator of their own;
// backward those of h.0 once more. A gather that follows one on the other communicator waits for it.
TEST(Fsdp, ExpertsAreUnitsOnTheSameStream) {
  auto trace = two_blocks();
  trace.gradients[1].name = SharedText("h.1.mlp.experts.weight");
  trace.gradients[3].name = SharedText("h.0.mlp.experts.weight");
  FsdpOptions options;
  options.units.experts_apart = true;
  auto plan = make_fsdp_plan(trace, FsdpKind::fsdp2, options, 8);
  plan.expert_shards = 2;
  ASSERT_EQ(names_of(plan.units),
            (std::vector<std::string>{"root", "h.0", "h.0.mlp.experts", "h.1", "h.1.mlp.experts"}));
  // 6 Mi + 1 Ki elements in eight parts, 2 Mi in two.
  EXPECT_DOUBLE_EQ(1 / plan.ranks_that_step(), (6145.0 / 8 + 2048.0 / 2) / 8193);
  auto program = plan.program(trace, 1, {}).program;
  check_program(program);
  EXPECT_EQ(program.communicators, 2U);
  std::array<std::vector<std::size_t>, 2> gathers, reductions;
  std::optional<std::size_t> last;
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    const auto& op = program.ops[i];
    if (op.kind == Op::Kind::compute) continue;
    bool is_of_experts = op.operation == Operation::all_gather ? plan.units[op.index].of_experts
                                                               : plan.units[4 - op.index].of_experts;
    EXPECT_EQ(op.communicator, is_of_experts ? 1U : 0U);
    (op.operation == Operation::all_gather ? gathers : reductions)[op.communicator].push_back(i);
    if (op.operation != Operation::all_gather) continue;
    if (last && program.ops[*last].communicator != op.communicator) {
      EXPECT_NE(std::ranges::find(op.after, *last), op.after.end()) << i;
    }
    last = i;
  }
  EXPECT_EQ(gathers[0].size(), 3U + 1U);
  EXPECT_EQ(gathers[1].size(), 2U + 1U);
  EXPECT_EQ(reductions[0].size(), 3U);
  EXPECT_EQ(reductions[1].size(), 2U);
  // Where nobody else has them they are neither gathered nor reduced.
  plan.expert_shards = 1;
  auto alone = plan.program(trace, 1, {}).program;
  EXPECT_EQ(alone.communicators, 1U);
  EXPECT_EQ(count(alone, Operation::all_gather), 4U);
  EXPECT_EQ(count(alone, Operation::reduce_scatter), 3U);
}

// A block's shared expert runs after its experts: the block computes before them and after them, forward; and
// backward what follows them first. It is gathered before its experts in both passes, and reduced last.
TEST(Fsdp, ABlockGoesOnAfterItsExperts) {
  LayerTrace trace;
  trace.forward = Seconds(4);
  trace.optimizer = Seconds(0.8);
  trace.gradients = {gradient("h.0.mlp.shared_experts.weight", 1 << 20, 1, 4),
                     gradient("h.0.mlp.experts.weight", 1 << 20, 3, 3),
                     gradient("h.0.attn.weight", 1 << 20, 6, 1), gradient("wte.weight", 1 << 20, 7, 0.5)};
  trace.registration_order = reverse_of_arrival(4);
  FsdpOptions options;
  options.units.experts_apart = true;
  options.reshard_last = true;
  auto plan = make_fsdp_plan(trace, FsdpKind::fsdp2, options, 8);
  plan.expert_shards = 2;
  auto of = [](const std::vector<UnitPass>& passes) {
    std::vector<std::pair<std::size_t, double>> all;
    for (const auto& pass : passes) all.emplace_back(pass.unit, pass.duration.value());
    return all;
  };
  using Passes = std::vector<std::pair<std::size_t, double>>;
  EXPECT_EQ(of(forward_passes(trace, plan.units)), (Passes{{0, 0.5}, {1, 0.5}, {2, 2}, {1, 1}, {0, 0}}));
  EXPECT_EQ(of(backward_passes(trace, plan.units)), (Passes{{0, 0}, {1, 1}, {2, 2}, {1, 3}, {0, 1}}));
  std::vector<std::size_t> gathers, reductions;
  for (const auto& op : plan.program(trace, 1, {}).program.ops) {
    if (op.kind == Op::Kind::compute) continue;
    (op.operation == Operation::all_gather ? gathers : reductions).push_back(op.index);
  }
  EXPECT_EQ(gathers, (std::vector<std::size_t>{0, 1, 2, 1, 2}));
  EXPECT_EQ(reductions, (std::vector<std::size_t>{0, 1, 2}));  // buckets: experts, block, root
}

// A recorded trace may say that a block ends no later than the one before it: its pass takes no time, and it
// is gathered all the same.
TEST(Fsdp, ABlockThatTakesNoTimeIsGathered) {
  auto trace = two_blocks();
  for (auto i : {1, 2}) trace.gradients[static_cast<std::size_t>(i)].forward_end = Seconds(1);
  auto units = shard_units(trace, {});
  auto passes = forward_passes(trace, units);
  EXPECT_TRUE(std::ranges::any_of(passes, [](const UnitPass& pass) { return pass.unit == 2; }));
  auto program = plan_of(trace, kFsdp).program(trace, 1, {}).program;
  EXPECT_EQ(count(program, Operation::all_gather), 4U);  // root, two blocks, and block 0 once more
}

}  // namespace
}  // namespace ddpsim::testing
