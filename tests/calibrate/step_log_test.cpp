#include "sim/calibrate/step_log.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/support/errors.hpp"

namespace ddpsim::calibrate {
namespace {

StepLog read(const std::string& text, const LoggedJob& job = {}, bool accepts_all = false) {
  return read_step_log({make_source("train.log", text), text}, job, accepts_all);
}

std::string megatron(int iteration, double milliseconds, int batch = 32, int skipped = 0) {
  return fmt::format(
      "node-7:  [2031-01-02 03:04:05] iteration {:8}/ 40 | consumed samples: {:12} | elapsed time per "
      "iteration (ms): "
      "{:.1f} | learning rate: 1.0E-04 | global batch size: {:5} | lm loss: 9.1E+00 | number of skipped "
      "iterations: "
      "{:3} | number of nan iterations:   0 |\n",
      iteration, iteration * batch, milliseconds, batch, skipped);
}

TEST(StepLog, MegatronAfterWarmUp) {
  // Iterations 1 to 5 are warm-up (less than five after the first); of the four others the median is (300 +
  // 320) / 2.
  std::string text = "using world size: 16, data-parallel size: 4, tensor-model-parallel size: 4\n";
  const double times[] = {9000, 800, 700, 600, 500, 300, 320, 290, 4000, 310, 315};
  for (int i = 0; i < 11; ++i) text += megatron(i + 1, times[i]);
  auto log = read(text, {32, 0, 16});
  EXPECT_EQ(log.program, "Megatron-LM");
  EXPECT_DOUBLE_EQ(log.step.value(), 0.3125);
  EXPECT_EQ(log.counted, 6);
  EXPECT_EQ(log.warm_up, 5);
  EXPECT_DOUBLE_EQ(log.least.value(), 0.29);
  EXPECT_DOUBLE_EQ(log.most.value(), 4);
  EXPECT_TRUE(log.notes.empty());
}

TEST(StepLog, NeverMoreThanHalfIsWarmUp) {
  auto log = read(megatron(1, 900) + megatron(2, 500) + megatron(3, 510));
  EXPECT_DOUBLE_EQ(log.step.value(), 0.505);
  EXPECT_EQ(log.warm_up, 1);
  // Of an interval of ten iterations each line has its own.
  log = read(megatron(10, 900) + megatron(20, 500) + megatron(30, 510) + megatron(40, 530));
  EXPECT_DOUBLE_EQ(log.step.value(), 0.51);
  EXPECT_EQ(log.warm_up, 1);
}

TEST(StepLog, TheOnlyLineCountsWithANote) {
  auto log = read(megatron(1, 900));
  EXPECT_DOUBLE_EQ(log.step.value(), 0.9);
  ASSERT_EQ(log.notes.size(), 1U);
  EXPECT_EQ(log.notes[0], "the only line there is: it may be of warm-up");
}

TEST(StepLog, OtherBatchesAndSkippedUpdatesAreLeftOut) {
  auto log = read(megatron(1, 900, 16) + megatron(2, 100, 16) + megatron(3, 110, 16) + megatron(4, 120, 16) +
                  megatron(5, 115, 16) + megatron(6, 200) + megatron(7, 150, 32, 1) + megatron(8, 210) +
                  megatron(9, 220) + megatron(9, 999));  // the same iteration again: another rank's
  EXPECT_DOUBLE_EQ(log.step.value(), 0.21);
  EXPECT_EQ(log.counted, 3);
  EXPECT_EQ(log.unusual,
            2);  // 5 of 9 lines are left after warm-up: of batch 16 that was line 5, and 7 is skipped
}

const std::string kTitan =
    "[rank0]:[titan] 2031-01-02 03:04:05,000 - root - INFO - Building 2-D device mesh with ['dp_shard', "
    "'tp'], [2, 4]\n"
    "[rank0]:[titan] 2031-01-02 03:04:05,001 - root - INFO - Trainer is initialized with local batch size 3, "
    "global batch "
    "size 6, gradient accumulation steps 1, sequence length 1000, total steps 30 (warmup 2)\n";

std::string titan(int step, int seconds, const std::string& rate) {
  return fmt::format(
      "[rank0]:[titan] 2031-01-02 03:04:{:02},500 - root - INFO - \x1b[31mstep: {:2}  \x1b[32mloss:  8.1  "
      "\x1b[34mtps: {}  mfu: 1.00%\n",
      seconds, step, rate);
}

TEST(StepLog, TorchtitansRatesAreOfADevice) {
  // 6 samples of 1000 tokens on 8 GPUs at 300 tokens/s each: 6000 / 2400 s.
  auto lines = titan(1, 10, "10") + titan(10, 40, "1,500") + titan(20, 58, "300");
  auto log = read(kTitan + lines, {6, 1000, 8});
  EXPECT_EQ(log.program, "torchtitan");
  EXPECT_EQ(log.warm_up, 1);
  EXPECT_DOUBLE_EQ(log.least.value(), 0.5);
  EXPECT_DOUBLE_EQ(log.most.value(), 2.5);
  EXPECT_DOUBLE_EQ(log.step.value(), 1.5);
}

TEST(StepLog, WithoutItsBatchTorchtitansClockCounts) {
  // 30 s of 9 steps, then 18 s of 10, then 10 s of 10.
  auto log =
      read(titan(1, 10, "10") + titan(10, 40, "1,500") + titan(20, 58, "300") +
           "[rank0]:[titan] 2031-01-02 03:05:08,500 - root - INFO - step: 30  loss: 8.0  tps: 1\n" +
           "[rank0]:[titan] 2031-01-02 03:05:09,500 - root - INFO - validate step: 30  loss: 8.0  tps: 1\n");
  EXPECT_EQ(log.counted, 2);
  EXPECT_DOUBLE_EQ(log.step.value(), (1.8 + 1.0) / 2);
}

TEST(StepLog, DeepSpeedsRates) {
  const std::string batch =
      "[2031-01-02 03:04:05,647] [INFO] [config.py:752:print]   train_batch_size ............. 48\n";
  std::string lines;
  for (int i = 1; i <= 4; ++i)
    lines += fmt::format(
        "worker-0: [2031-01-02 03:04:05,647] [INFO] [timer.py:260:stop] "
        "epoch=0/micro_step={}/global_step={}, "
        "RunningAvgSamplesPerSec=1.5, CurrSamplesPerSec={}, MemAllocated=1.8GB\n",
        10 * i, 10 * i, 12 * i);
  auto log = read(batch + lines);  // 4, 2, 4/3 and 1 s
  EXPECT_EQ(log.program, "DeepSpeed");
  EXPECT_DOUBLE_EQ(log.step.value(), 4.0 / 3);
  EXPECT_TRUE(log.notes.empty());
  log = read(lines, {96, 0, 8});
  EXPECT_DOUBLE_EQ(log.step.value(), 8.0 / 3);
  EXPECT_EQ(log.notes.size(), 1U);
}

TEST(StepLog, DeepSpeedsPipelineAndItsParts) {
  auto log = read(
      "steps: 1 loss: 12.7 iter time (s): 9.5 samples/sec: 6.8\nsteps: 2 loss: 12.7 iter time (s): 2.5 "
      "samples/sec: 7\n");
  EXPECT_DOUBLE_EQ(log.step.value(), 2.5);
  log = read(
      "[Rank 0] time (ms) | fwd_microstep: 1.00 | bwd_microstep: 2.00 | step_microstep: 3.00\n"
      "[Rank 0] time (ms) | fwd: 100.00 | bwd: 250.00 | bwd_inner: 200.0 | bwd_allreduce: 50.0 | step: "
      "30.00\n");
  EXPECT_DOUBLE_EQ(log.step.value(), 0.38);
}

TEST(StepLog, MegatronUnderDeepSpeedIsMegatrons) {
  auto log = read("epoch=0/micro_step=1/global_step=1, RunningAvgSamplesPerSec=1, CurrSamplesPerSec=320\n" +
                  megatron(1, 700));
  EXPECT_EQ(log.program, "Megatron-LM");
}

TEST(StepLog, NanoGpt) {
  std::string text = "tokens per iteration will be: 4,096\n";
  for (int i = 0; i < 12; ++i)
    text += fmt::format("iter {}: loss 4.2, time {}.25ms, mfu {}%\n", i, i == 0 ? 9000 : 100 + i,
                        i < 5 ? "-100.00" : "3.1");
  auto log = read(text, {4, 1024, 2});
  EXPECT_EQ(log.program, "nanoGPT");
  EXPECT_EQ(log.counted, 7);  // 5 to 11
  EXPECT_DOUBLE_EQ(log.step.value(), 0.10825);
  // Others print the time so far.
  log = read(
      "step:1/9 train_loss:11.0 train_time:5000ms step_avg:nanms\nstep:2/9 train_loss:10.9 train_time:5300ms "
      "step_avg:nanms\n"
      "step:2/9 val_loss:10.9 train_time:5301ms step_avg:nanms\nstep:4/9 train_loss:10.8 train_time:5700ms "
      "step_avg:1ms\n");
  EXPECT_DOUBLE_EQ(log.step.value(), 0.2);
}

TEST(StepLog, TheTrainersStepsAreAsManyAsItsDigitsLeave) {
  auto line = [](const char* runtime, const char* rate) {
    return fmt::format(
        "{{'loss': 1.5, 'epoch': 0.5}}\n{{'train_runtime': {}, 'train_samples_per_second': 3.6, "
        "'train_steps_per_second': {}, 'epoch': 1.0}}\n",
        runtime, rate);
  };
  // 0.0065 to 0.0075 steps/s of 300 s: 2 steps.
  EXPECT_DOUBLE_EQ(read(line("300.0", "0.007")).step.value(), 150);
  // As transformers 5 quotes its numbers.
  EXPECT_DOUBLE_EQ(read(line("'300'", "'0.007'")).step.value(), 150);
  // 0.3995 to 0.4005 of 2000 s: 799 to 801, and the bar says which.
  EXPECT_DOUBLE_EQ(
      read(line("2000.0", "0.400") + "100%|####| 799/799 [33:20<00:00,  2.50s/it]\n").step.value(),
      2000.0 / 799);
  EXPECT_DOUBLE_EQ(read(line("2000.0", "0.400")).step.value(), 2.5);
  auto log = read(
      "  Total train batch size (w. parallel, distributed & accumulation) = 64\n" + line("300.0", "0.007"),
      {64});
  EXPECT_EQ(log.program, "Hugging Face's Trainer");
  EXPECT_EQ(log.warm_up, 0);
}

TEST(StepLog, AnotherJobIsAnError) {
  const std::string text =
      "using world size: 16, data-parallel size: 4\n" + megatron(1, 700) + megatron(2, 700);
  EXPECT_EQ(testing::brief_error([&] {
              read(text, {32, 0, 8});
            }),
            "train.log:1:19-20: the log has a world size of 16, the scenario 8; describe the run that was "
            "measured: --set cluster.world_size=16; or --accept it");
  auto log = read(text, {32, 0, 8}, true);
  ASSERT_EQ(log.notes.size(), 1U);
  EXPECT_EQ(log.notes[0], "the log has a world size of 16, the scenario 8");
  EXPECT_THROW(read(text, {64, 0, 16}), InputError);
  const std::string split =
      "using world size: 16, data-parallel size: 2, tensor-model-parallel size: 4, "
      "pipeline-model-parallel size: 2\n" +
      megatron(1, 700);
  EXPECT_NO_THROW(read(split, {32, 0, 16, 4, 2}));
  EXPECT_THROW(read(split, {32, 0, 16, 1, 2}), InputError);
  EXPECT_THROW(read(split, {32, 0, 16, 4, 1}), InputError);
}

}  // namespace
}  // namespace ddpsim::calibrate
