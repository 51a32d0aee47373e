#include "validate/harness/job_json.hpp"

#include "validate/harness/virtual_device.hpp"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/errors.hpp"
#include "tests/support/temporary_folder.hpp"

namespace ddpsim::validate {
namespace {

using ddpsim::testing::input_error;
using ddpsim::testing::TemporaryFolder;
using ::testing::ElementsAre;
using ::testing::Pair;
using ::testing::StartsWith;

// No two values are alike, and none is a default.
Job full_job() {
  Step replayed{"ddp.bucket_cap = 25MiB, \"quoted\"", {}, {}, {2, 6, 31, 0.0123, Seconds(61.5), 4}, true};
  Op compute;
  compute.duration = Seconds(0.1);
  replayed.program.ops.push_back(compute);
  replayed.add(Operation::reduce_scatter, {7, 1234567890123}, {0});
  replayed.before_last_backward = 2;
  compute.after = {0, 1};
  replayed.program.ops.push_back(compute);
  Step trained{"trained", {}, {}, {}, false, Reduction{Reduction::Kind::overlap, 1048576, 26214400, true, 3}};
  return {
      "gloo", {{3, 1.2}, {5, 2.25}}, Seconds(12.5), {replayed, trained}, TrainedModel{"gpt2", 8, 128}, true,
      2};
}

Job written_and_read(const Job& job) {
  TemporaryFolder folder;
  return read_job(folder.write("job.json", write_job(job)));
}

TEST(JobJson, AllOfAJob) {
  auto job = written_and_read(full_job());
  EXPECT_EQ(job.backend, "gloo");
  EXPECT_THAT(job.slowdowns, ElementsAre(Pair(3, 1.2), Pair(5, 2.25)));
  EXPECT_EQ(job.timeout, Seconds(12.5));
  EXPECT_TRUE(job.real_time);
  EXPECT_EQ(job.collective_workers, 2);
  ASSERT_TRUE(job.model);
  EXPECT_EQ(job.model->name, "gpt2");
  EXPECT_EQ(job.model->batch, 8);
  EXPECT_EQ(job.model->sequence, 128);
  ASSERT_EQ(job.steps.size(), 2U);
}

TEST(JobJson, AllOfAStep) {
  auto step = written_and_read(full_job()).steps.at(0);
  EXPECT_EQ(step.name, "ddp.bucket_cap = 25MiB, \"quoted\"");
  EXPECT_TRUE(step.verify);
  EXPECT_FALSE(step.reduction);
  EXPECT_EQ(step.sampling.warm_up, 2);
  EXPECT_EQ(step.sampling.least, 6);
  EXPECT_EQ(step.sampling.most, 31);
  EXPECT_EQ(step.sampling.precision, 0.0123);
  EXPECT_EQ(step.sampling.budget, Seconds(61.5));
  EXPECT_EQ(step.sampling.turn, 4);
  const auto& ops = step.program.ops;
  ASSERT_EQ(ops.size(), 3U);
  EXPECT_EQ(ops[0].kind, Op::Kind::compute);
  EXPECT_EQ(ops[0].duration, Seconds(0.1));
  EXPECT_EQ(ops[1].kind, Op::Kind::collective);
  EXPECT_EQ(ops[1].operation, Operation::reduce_scatter);
  EXPECT_EQ(ops[1].bytes, Bytes(4.0 * 1234567890123));
  EXPECT_THAT(ops[1].after, ElementsAre(0U));
  EXPECT_EQ(step.before_last_backward, 2U);
  EXPECT_THAT(ops[2].after, ElementsAre(0U, 1U));
  EXPECT_THAT(step.ranges, ElementsAre(Range{7, 1234567890123}));
}

TEST(JobJson, AllOfAReduction) {
  auto step = written_and_read(full_job()).steps.at(1);
  EXPECT_FALSE(step.verify);
  EXPECT_TRUE(step.program.ops.empty());
  EXPECT_FALSE(step.before_last_backward);
  ASSERT_TRUE(step.reduction);
  EXPECT_EQ(step.reduction->first_bucket_cap, 1048576U);
  EXPECT_EQ(step.reduction->bucket_cap, 26214400U);
  EXPECT_TRUE(step.reduction->gradient_as_bucket_view);
  EXPECT_EQ(step.reduction->accumulation_steps, 3);
  using Kind = Reduction::Kind;
  for (auto kind : {Kind::none, Kind::naive, Kind::flat, Kind::overlap, Kind::ddp}) {
    auto job = full_job();
    job.steps[1].reduction->kind = kind;
    EXPECT_EQ(written_and_read(job).steps[1].reduction->kind, kind);
  }
}

TEST(JobJson, NoModelAndNoSteps) {
  auto job = written_and_read({"nccl", {}, Seconds(60), {}});
  EXPECT_EQ(job.backend, "nccl");
  EXPECT_TRUE(job.slowdowns.empty());
  EXPECT_TRUE(job.steps.empty());
  EXPECT_FALSE(job.model);
}

RunResult full_result() {
  StepSamples first{
      "first",
      {Seconds(0.1), Seconds(0.3)},
      {{Seconds(0.01), Seconds(0.02), Seconds(0.03)}, {Seconds(0.04), Seconds(0.05), Seconds(0.06)}},
      true,
      Seconds(0.07)};
  return {"gloo",
          4,
          {{"processor", "some"}, {"gloo", "1.2"}, {"a", "last"}},
          {first, {"second", {}, {}, false}},
          "# ddpsim-trace: 1\nlines\n"};
}

TEST(RunResultJson, All) {
  TemporaryFolder folder;
  auto result = read_run_result(folder.write("result.json", write_run_result(full_result())));
  EXPECT_EQ(result.backend, "gloo");
  EXPECT_EQ(result.world_size, 4);
  EXPECT_EQ(result.environment, (Environment{{"processor", "some"}, {"gloo", "1.2"}, {"a", "last"}}));
  EXPECT_EQ(result.trace, "# ddpsim-trace: 1\nlines\n");
  ASSERT_EQ(result.steps.size(), 2U);
  EXPECT_EQ(result.steps[0].name, "first");
  EXPECT_TRUE(result.steps[0].settled);
  EXPECT_THAT(result.steps[0].totals, ElementsAre(Seconds(0.1), Seconds(0.3)));
  ASSERT_EQ(result.steps[0].collectives.size(), 2U);
  EXPECT_EQ(result.steps[0].collectives[0].launch, Seconds(0.01));
  EXPECT_EQ(result.steps[0].collectives[0].start, Seconds(0.02));
  EXPECT_EQ(result.steps[0].collectives[0].end, Seconds(0.03));
  EXPECT_EQ(result.steps[0].collectives[1].launch, Seconds(0.04));
  EXPECT_EQ(result.steps[0].collectives[1].start, Seconds(0.05));
  EXPECT_EQ(result.steps[0].collectives[1].end, Seconds(0.06));
  EXPECT_EQ(result.steps[0].backward_start, Seconds(0.07));
  EXPECT_EQ(result.steps[1].name, "second");
  EXPECT_FALSE(result.steps[1].settled);
  EXPECT_TRUE(result.steps[1].totals.empty());
}

std::string job_error(const std::string& text) {
  TemporaryFolder folder;
  auto path = folder.write("job.json", text);
  return folder.without_folder(input_error([&] { read_job(path); }));
}

std::string result_error(const std::string& text) {
  TemporaryFolder folder;
  auto path = folder.write("result.json", text);
  return folder.without_folder(input_error([&] { read_run_result(path); }));
}

std::string replaced(std::string text, const std::string& old, const std::string& by) {
  auto at = text.find(old);
  EXPECT_NE(at, std::string::npos) << old;
  return text.replace(at, old.size(), by);
}

// A device of the tests makes no measurements.
TEST(RunResultJson, OfTheVirtualDevice) {
  auto result = full_result();
  result.environment.push_back({"gpu", std::string(kVirtualDevice)});
  EXPECT_EQ(result_error(write_run_result(result)),
            "result.json: error: was made on 'ddpsim virtual GPU', which is no hardware\n"
            "hint: measure on a real machine");
}

TEST(JobJsonErrors, UnknownWords) {
  EXPECT_EQ(job_error(replaced(write_job(full_job()), "[7,1234567890123]", "")),
            "job.json: error: a step has 1 collectives and ranges for 0");
  EXPECT_EQ(job_error(replaced(write_job(full_job()), "\"overlap\"", "\"later\"")),
            "job.json: error: unknown reduction 'later'");
  EXPECT_EQ(job_error(replaced(write_job(full_job()), "\"reduce_scatter\"", "\"gossip\"")),
            "job.json: error: unknown collective 'gossip'");
}

TEST(JobJsonErrors, CutOff) {
  auto job = write_job(full_job());
  auto result = write_run_result(full_result());
  EXPECT_THAT(job_error(job.substr(0, job.size() / 2)), StartsWith("job.json: error: not a job: "));
  EXPECT_THAT(result_error(result.substr(0, result.size() / 2)),
              StartsWith("result.json: error: not a run's result: "));
}

TEST(JobJsonErrors, SomethingElse) {
  const std::string hint = "\nhint: it is written and read by the same version of ddpsim";
  EXPECT_EQ(job_error("{}"), "job.json: error: not a job: key 'ddpsim-job' not found" + hint);
  EXPECT_EQ(job_error(write_run_result(full_result())),
            "job.json: error: not a job: key 'ddpsim-job' not found" + hint);
  EXPECT_EQ(result_error(write_job(full_job())),
            "result.json: error: not a run's result: key 'ddpsim-run' not found" + hint);
  EXPECT_EQ(
      result_error(replaced(write_run_result(full_result()), "\"world_size\": 4", "\"world_size\": \"4\"")),
      "result.json: error: not a run's result: type must be number, but is string" + hint);
  EXPECT_EQ(job_error(replaced(write_job(full_job()), "[7,", "[")),
            "job.json: error: not a job: array index 1 is out of range" + hint);
  EXPECT_THAT(job_error("bytes,time_s\n4,1\n"), StartsWith("job.json: error: not a job: "));
}

TEST(JobJsonErrors, NoFile) {
  TemporaryFolder folder;
  auto message = input_error([&] { read_job(folder.path("none.json")); });
  EXPECT_EQ(folder.without_folder(message),
            "none.json: error: no such file (expected a job)\n"
            "hint: check the path");
}

}  // namespace
}  // namespace ddpsim::validate
