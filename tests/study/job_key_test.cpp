// What tells jobs and studies apart, and what does not.
#include "sim/study/job_key.hpp"

#include <algorithm>
#include <optional>
#include <set>

#include <gtest/gtest.h>

#include "sim/config/overrides.hpp"
#include "sim/study/study.hpp"

#include "tests/config/text.hpp"
#include "tests/job/random_job.hpp"
#include "tests/support/temporary_folder.hpp"

namespace ddpsim::testing {
namespace {

constexpr const char* kJob =
    "workload: {trace: trace.csv}\ncluster: {topology: ring-100gbps, world_size: 8}\n";

class JobKeyTest : public ::testing::Test {
 protected:
  void SetUp() override { folder.write("trace.csv", "one\n"); }

  [[nodiscard]] std::string file() const { return folder.path("scenario.yaml"); }
  [[nodiscard]] std::string key(const std::string& text) const { return JobKeys(file()).key(parse(text)); }
  [[nodiscard]] std::string key_with(const std::string& more) const { return key(kJob + more); }
  [[nodiscard]] std::string study(const std::string& more, const std::string& sweep) const {
    return Study(file(), parse(kJob + more + "sweep: {" + sweep + "}\n")).head().study;
  }

  TemporaryFolder folder;
};

TEST_F(JobKeyTest, TheSameJobInOtherWords) {
  auto one = key_with("ddp: {bucket_cap: 25MiB}\n");
  EXPECT_EQ(one.size(), 36U);
  EXPECT_EQ(one, key("ddp: {bucket_cap: 26214400B}\ncluster:\n  world_size: 8\n  topology: ring-100gbps\n"
                     "workload:\n  trace: trace.csv\n"));
  EXPECT_EQ(one, key_with("strategy: ddp\nddp: {bucket_cap: 25600KiB, static_graph: false}\npipeline: {}\n"));
  EXPECT_NE(one, key_with("ddp: {bucket_cap: 24MiB}\n"));
  EXPECT_NE(one, key("workload: {trace: trace.csv}\ncluster: {topology: ring-1gbps, world_size: 8}\n"
                     "ddp: {bucket_cap: 25MiB}\n"));
}

TEST_F(JobKeyTest, WhatDoesNotCountInTheJobIsNotInItsKey) {
  EXPECT_EQ(key_with(""), key_with("zero: {reduce_bucket_size: 5e7}\n"));
  EXPECT_EQ(key_with(""), key_with("host: {adam_rate: 1e9}\n"));
  EXPECT_EQ(key_with("strategy: flat\n"), key_with("strategy: flat\nddp: {bucket_cap: 1MiB}\n"));
  EXPECT_NE(key_with("strategy: zero1\n"), key_with("strategy: zero1\nzero: {reduce_bucket_size: 5e7}\n"));
  EXPECT_NE(key_with(""), key_with("expert: {}\n"));  // an empty section that says something
}

TEST_F(JobKeyTest, RandomJobsInOtherWords) {
  RandomJob random(7);
  JobKeys keys(file());
  int jobs = 0, same = 0;
  while (jobs < 200) {
    auto root = random.draw(4 + random.below(20));
    std::optional<GivenJob> given;
    try {
      given = read_job(root);
    } catch (const InputError&) {
      continue;
    }
    ++jobs;
    auto one = keys.key(root);
    ASSERT_EQ(keys.key(parse(config::to_flow_text(write_job(given->job)))), one);
    auto turned = root;
    std::ranges::reverse(turned.entries);
    for (auto& section : turned.entries) std::ranges::reverse(section.value.entries);
    ASSERT_EQ(keys.key(turned), one);
    // A section with its defaults, where none of them is refused beside another key.
    auto whole = parse(config::to_flow_text(keys::write_all(job_table(), &given->job)));
    for (const auto& section : whole.entries) {
      auto longer = root;
      config::set_at(longer, section.key, section.value, {});
      try {
        if (read_job(longer).job != given->job) continue;
      } catch (const InputError&) {
        continue;
      }
      ++same;
      ASSERT_EQ(keys.key(longer), one) << section.key;
    }
  }
  EXPECT_GT(same, 500);
}

// A key of one job in place of that of another one: the keys differ where the jobs do in what counts.
TEST_F(JobKeyTest, EveryKeyThatCountsIsInTheKeyOfTheJob) {
  RandomJob random(8);
  JobKeys keys(file());
  std::optional<GivenJob> other;
  std::set<std::string> counted, uncounted;
  for (int drawn = 0; drawn < 10'000; ++drawn) {
    std::optional<GivenJob> given;
    try {
      given = read_job(random.draw(4 + random.below(20)));
    } catch (const InputError&) {
      continue;
    }
    std::swap(given, other);
    if (!given) continue;
    auto one = keys.key(given->root);
    for (const auto& [path, place] : other->places.all()) {
      const auto* value = config::find_at(other->root, path);
      if (path.empty() || !value) continue;
      auto changed = given->root;
      std::optional<Job> job;
      try {
        config::set_at(changed, path, *value, {});
        job = read_job(changed).job;
      } catch (const InputError&) {
        continue;
      }
      bool before = counts(given->job, path), after = counts(*job, path);
      if (*job == given->job || (!before && !after)) {
        ASSERT_EQ(keys.key(changed), one) << path;
        if (*job != given->job) uncounted.insert(path);
      } else if (before && after && value->kind != config::Value::Kind::map) {
        ASSERT_NE(keys.key(changed), one) << path;
        counted.insert(path);
      }
    }
  }
  EXPECT_GT(counted.size(), 100U);
  EXPECT_GT(uncounted.size(), 50U);
}

TEST_F(JobKeyTest, TheFilesThatAreNamed) {
  folder.write("ring.yaml", "gpu: mine.yaml\n");
  folder.write("mine.yaml", "one: 1\n");
  auto key = [&] {
    return JobKeyTest::key("workload: {trace: trace.csv}\ncluster: {topology: ring.yaml, world_size: 8}\n");
  };
  auto before = key();
  EXPECT_EQ(before, key());
  folder.write("mine.yaml", "one: 2\n");  // what a file names counts, too
  auto after = key();
  EXPECT_NE(before, after);
  folder.write("trace.csv", "two\n");
  EXPECT_NE(after, key());
}

// Paths in the scenario start at its folder, typed ones at the current one, where no such file is.
TEST_F(JobKeyTest, FilesOfTypedPathsAreOthers) {
  auto typed = parse(kJob);
  config::apply_override(typed, "workload.trace=trace.csv");
  EXPECT_NE(JobKeys(file()).key(typed), key_with(""));
}

TEST_F(JobKeyTest, ScenariosThatAreNoJobs) {
  EXPECT_NE(key("a: [1, 2]\n"), key("a: [1, [2]]\n"));
  EXPECT_NE(key("a: {b: 1}\n"), key("a.b: 1\n"));
  EXPECT_NE(key("a: []\n"), key("a:\n"));
  EXPECT_NE(key("a: {}\n"), key("a:\n"));
  EXPECT_NE(key("a: nothing\n"), key("a:\n"));
  EXPECT_NE(key("a: \"1\\n.b=2\"\n"), key("a: 1\nb: 2\n"));
}

TEST_F(JobKeyTest, ThePointsOfAStudyAreJobs) {
  auto root = parse(std::string(kJob) + "sweep: {cluster.world_size: [4, 8]}\n");
  EXPECT_EQ(Study(file(), root).key(1), key_with(""));
}

TEST_F(JobKeyTest, OfAStudyEveryKeyThatIsGivenCounts) {
  auto axes = "strategy: [ddp, zero1], batch.global: [8, 16]";
  auto one = study("zero: {reduce_bucket_size: 5e8}\n", axes);
  EXPECT_EQ(one, study("zero: {reduce_bucket_size: 500000000}\n", axes));
  EXPECT_NE(one, study("zero: {reduce_bucket_size: 5e7}\n", axes));           // no matter under ddp
  EXPECT_NE(study("", axes), study("ddp: {accumulation_steps: 1}\n", axes));  // refused beside batch.global
  EXPECT_NE(one, study("zero: {reduce_bucket_size: 5e8}\n", "batch.global: [8, 16], strategy: [ddp, zero1]"));
  EXPECT_NE(one, study("zero: {reduce_bucket_size: 5e8}\n", "strategy: [ddp, zero1], batch.global: [8, 32]"));
}

}  // namespace
}  // namespace ddpsim::testing
