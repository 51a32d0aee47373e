// What it takes to add a strategy: signSGD with a gather (each rank sends the signs of its gradients to all
// others; Bernstein et al., arXiv 1802.04434), with a key of its own. Everything else follows from the list:
// the scenario's word and section, the schema's, what it communicates, its step, `explain`.
#include <gtest/gtest.h>

#include "sim/config/overrides.hpp"
#include "sim/job/rows/table.hpp"
#include "sim/keys/types.hpp"
#include "sim/resolve/resolve.hpp"
#include "sim/strategies/bucketed_plan.hpp"
#include "sim/strategies/families.hpp"
#include "sim/study/point_runs.hpp"

#include "tests/support/errors.hpp"
#include "tests/support/temporary_folder.hpp"

namespace ddpsim::testing {
namespace {

struct SignOptions {
  int bits = 1;  // of each gradient
  bool operator==(const SignOptions&) const = default;
};

struct SignPlan final : StrategyPlan {
  Bytes gathered;

  class Axis final : public DataAxis {
   public:
    Axis(const LayerTrace& trace, Bytes gathered, StepBuilder& step)
        : DataAxis(step), trace_(trace), gathered_(gathered) {}
    void forward(const Turn& turn) override {
      step_.compute(Activity::forward, turn.micro_batch, *trace_.forward);
    }
    void backward(const Turn& turn) override {
      step_.start_last_backward();
      step_.compute(Activity::backward, turn.micro_batch, turn.pace * trace_.backward());
      step_.set_ready(0);
    }
    void finish() override {  // in the place of an all-reduce
      step_.wait(step_.collective(Activity::all_reduce, Operation::all_gather, 0, gathered_));
    }
    [[nodiscard]] Seconds optimizer() const override { return *trace_.optimizer; }

   private:
    const LayerTrace& trace_;
    Bytes gathered_;
  };

  [[nodiscard]] ReductionPlan reductions(const LayerTrace& trace, int) const override {
    auto plan = make_reduction_plan(trace, Reducer::flat, {});
    plan.reducer = Reducer::none;
    return plan;
  }
  [[nodiscard]] std::unique_ptr<DataAxis> at_work(const LayerTrace& trace, StepBuilder& step) const override {
    return std::make_unique<Axis>(trace, gathered, step);
  }
  [[nodiscard]] HeldStates held(const HeldOf&) const override { return {.buckets = gathered}; }
};

class SignStrategy final : public Strategy {
 public:
  SignStrategy() : Strategy({.name = "sign_sgd", .shares_models = true, .shares_stages = true}) {}
  [[nodiscard]] std::shared_ptr<const StrategyPlan> plan(const PlanInput& input) const override {
    auto plan = std::make_shared<SignPlan>();
    double bits = input.choice.sections.of<SignOptions>().bits;
    plan->gathered = Bytes(input.ranks * bits / 8 * static_cast<double>(total_elements(input.trace)));
    return plan;
  }
  [[nodiscard]] std::vector<CommunicatorUse> communicators(const StrategyChoice&) const override {
    return {{.operations = {Operation::all_gather}}};
  }
};
const SignStrategy kSign;
const keys::When kIsSign{[](const Job& job) { return job.strategy == &kSign; }, "strategy sign_sgd"};

const bool kIsAdded = [] {
  add_strategy_family(
      {{&kSign}, [](keys::Rows<Job>& to) {
         to.at<SignOptions>(
               "sign_sgd",
               keys::nested(keys::Rows<SignOptions>("sign_sgd")
                                .key<&SignOptions::bits>("bits", keys::whole(1, 32), "Of each gradient")
                                .tries({"2"})),
               [](Job& job) -> SignOptions& { return job.sections.of<SignOptions>(); }, "signSGD")
             .when(kIsSign);
       }});
  return true;
}();

class OwnStrategy : public ::testing::Test {
 protected:
  config::Value root(const std::string& overrides) {
    folder_.write("trace.csv",
                  "# ddpsim-trace: 1\n# forward: 20ms\n# optimizer: 2ms\ngradient,elements,dtype,ready_s\n"
                  "a,40000000,float32,0.02\nb,40000000,float32,0.04\n");
    path_ = folder_.write("scenario.yaml",
                          "workload: {trace: trace.csv}\ncluster: {topology: ring-100gbps, world_size: 4}\n"
                          "strategy: sign_sgd\nphysics: none\n");
    auto read = config::load_yaml(path_, "a scenario");
    if (!overrides.empty()) config::apply_override(read, overrides);
    return read;
  }
  double iteration_ms(const std::string& overrides) {
    auto read = root(overrides);
    auto scenario = resolve(Files(path_), read);
    double ms = 0;
    run_points(unchanged({&scenario, 1}), 1,
               [&](std::size_t, const Prediction&, const IterationMetrics& one) {
                 EXPECT_EQ(one.strategy->name(), "sign_sgd");
                 ms = 1e3 * one.iteration.value();
               });
    return ms;
  }

 private:
  TemporaryFolder folder_;
  std::string path_;
};

// 80e6 signs of each of 4 ranks are 40 MB, of which a rank receives three quarters at 12.5 GB/s, in three
// steps of 5 us: 2.415 ms after 60 ms of passes, before 2 ms of the optimizer. Two bits take 2.4 ms more.
TEST_F(OwnStrategy, IsSimulated) {
  EXPECT_NEAR(iteration_ms(""), 64.415, 1e-9);
  EXPECT_NEAR(iteration_ms("sign_sgd.bits=2"), 66.815, 1e-9);
}

TEST_F(OwnStrategy, IsKnownEverywhere) {
  ASSERT_TRUE(kIsAdded);
  auto names = strategies_that([](const StrategyTraits&) { return true; });
  EXPECT_EQ(names.back(), "sign_sgd");
  EXPECT_NE(job_table().find("sign_sgd"), nullptr);
  auto given = read_job(root(""));
  EXPECT_FALSE(counts(given.job, "fsdp"));
  EXPECT_TRUE(counts(given.job, "sign_sgd.bits"));
  auto all = trials(given);
  EXPECT_TRUE(std::ranges::any_of(all, [](const Trial& one) { return one.path == "sign_sgd.bits"; }));
  auto written = write_job(read_job(root("sign_sgd.bits=3")).job);
  EXPECT_EQ(read_job(written).job, read_job(root("sign_sgd.bits=3")).job);
  EXPECT_NE(read_job(written).job, given.job);
}

TEST_F(OwnStrategy, ItsKeysAreChecked) {
  auto error = input_error([&] { read_job(root("sign_sgd.bits=64")); });
  EXPECT_NE(error.find("64 is out of range"), std::string::npos) << error;
}

}  // namespace
}  // namespace ddpsim::testing
