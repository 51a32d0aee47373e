// The key table of scenarios: what it reads it writes, and what it writes it reads.
#include <optional>
#include <set>
#include <tuple>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/config/overrides.hpp"

#include "tests/config/text.hpp"
#include "tests/job/random_job.hpp"

namespace ddpsim::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

GivenJob read(const std::string& more) {
  return read_job(parse("workload: {trace: t.csv}\ncluster: {world_size: 8}\n" + more));
}
std::string error_of(const std::string& more) {
  return input_error([&] { read(more); });
}

// Contradictions between keys refuse most that have many.
TEST(Job, WhatIsWrittenReadsBackTheSame) {
  RandomJob random(1);
  std::set<std::string> seen;
  int valid = 0, refused = 0;
  while (valid < 500) {
    auto root = random.draw(4 + random.below(20));
    auto text = config::to_flow_text(root);
    auto given = [&] {
      try {
        return std::optional(read_job(parse(text)));
      } catch (const InputError&) {
        return std::optional<GivenJob>();
      }
    }();
    if (!given) {
      ASSERT_LT(++refused, 100'000);
      continue;
    }
    ++valid;
    for (const auto& [path, place] : given->places.all()) seen.insert(path);
    auto written = config::to_flow_text(write_job(given->job));
    auto again = read_job(parse(written));
    ASSERT_TRUE(again.job == given->job) << text << "\n" << written;
    ASSERT_EQ(config::to_flow_text(write_job(again.job)), written);
  }
  EXPECT_GT(seen.size(), 220U);
}

std::vector<std::tuple<std::string, const SourceFile*, int, int, int>> places_of(const GivenJob& given) {
  std::vector<std::tuple<std::string, const SourceFile*, int, int, int>> all;
  for (const auto& [path, place] : given.places.all())
    for (const auto& span : {place.key, place.value})
      all.emplace_back(path, span.file.get(), span.line, span.column, span.length);
  return all;
}

// Some keys of one job in place of those of another one.
TEST(Job, WhatHasChangedIsReadAgainAsAllOfIt) {
  RandomJob random(2);
  auto draw = [&] { return parse(config::to_flow_text(random.draw(4 + random.below(20)))); };
  int same = 0, refused = 0;
  for (int drawn = 0; drawn < 10'000; ++drawn) {
    std::optional<GivenJob> given;
    try {
      given = read_job(draw());
    } catch (const InputError&) {
      continue;
    }
    auto other = draw();
    std::set<std::string_view> keys;
    try {
      for (const auto& section : other.entries) {
        if (random.below(4) != 0) continue;
        keys.insert(section.key);
        if (random.below(2) == 0 || section.value.entries.empty()) {
          config::set_at(given->root, section.key, section.value, section.key_span);
          continue;
        }
        const auto& entry = section.value.entries[random.below(section.value.entries.size())];
        config::set_at(given->root, section.key + "." + entry.key, entry.value, entry.key_span);
      }
    } catch (const InputError&) {
      continue;
    }
    std::optional<GivenJob> whole;
    try {
      whole = read_job(given->root);
    } catch (const InputError&) {
      EXPECT_THROW(read_again(*given, keys), InputError);
      ++refused;
      continue;
    }
    read_again(*given, keys);
    ASSERT_TRUE(given->job == whole->job) << config::to_flow_text(given->root);
    ASSERT_EQ(places_of(*given), places_of(*whole));
    ++same;
  }
  EXPECT_GT(same, 100);
  EXPECT_GT(refused, 50);
}

TEST(Job, OnlyWhatDiffersFromTheDefaultsIsWritten) {
  auto given =
      read("ddp: {bucket_cap: 25MiB, static_graph: false}\nphysics: {passes: auto}\nstrategy: ddp\n");
  EXPECT_EQ(config::to_flow_text(write_job(given.job)),
            "{workload: {trace: t.csv}, cluster: {world_size: 8}, ddp: {bucket_cap: 26214400B}, physics: "
            "{passes: auto}}");
  EXPECT_TRUE(read("").job == read("strategy: ddp\n").job);
  EXPECT_FALSE(read("").job == read("strategy: fsdp\n").job);
}

TEST(Job, PlacesOfKeysAndOfTheSectionAroundThem) {
  auto given = read("ddp:\n  bucket_cap: 1MiB\n");
  EXPECT_EQ(given.at("ddp.bucket_cap").line, 4);
  EXPECT_EQ(given.at("ddp.static_graph").line, 4);  // the section's first line
  EXPECT_EQ(given.places.key_at("ddp").line, 3);
  EXPECT_FALSE(given.has("ddp.static_graph"));
}

TEST(Job, AnUnknownKeyComesBeforeTheOneThatIsMissing) {
  EXPECT_THAT(error_of("ddp: {comm_hook: {powersdg: {}}}\n"), HasSubstr("did you mean 'powersgd'?"));
  EXPECT_THAT(error_of("failures: {mtbff: 1h}\n"), HasSubstr("unknown key 'mtbff'; did you mean 'mtbf'?"));
}

TEST(Job, MisplacedKeysAndOtherPeoplesNames) {
  EXPECT_THAT(error_of("bucket_cap: 1MiB\n"), HasSubstr("did you mean 'ddp.bucket_cap'?"));
  EXPECT_THAT(error_of("ddp: {gradient_accumulation_steps: 2}\n"),
              HasSubstr("'ddp' calls it 'accumulation_steps'"));
  EXPECT_THAT(error_of("global_batch_size: 8\n"), HasSubstr("did you mean 'batch.global'?"));
}

TEST(Job, KeysThatMakeNoDifference) {
  auto unused = [](const std::string& more) {
    std::vector<std::string> paths;
    for (const auto& key : unused_keys(read(more))) paths.push_back(key.path);
    return paths;
  };
  EXPECT_THAT(unused("zero: {reduce_bucket_size: 5e7}\n"), ElementsAre("zero"));
  EXPECT_THAT(unused("strategy: zero1\nzero: {reduce_bucket_size: 5e7}\n"), ElementsAre());
  EXPECT_THAT(unused("strategy: zero1\nzero: {prefetch_bucket_size: 5e7}\n"),
              ElementsAre("zero.prefetch_bucket_size"));
  EXPECT_THAT(unused("strategy: flat\nddp: {bucket_cap: 1MiB, accumulation_steps: 2}\n"),
              ElementsAre("ddp.bucket_cap"));
  EXPECT_THAT(unused("strategy: zero2\nhost: {adam_rate: 1e9}\n"), ElementsAre("host.adam_rate"));
  EXPECT_THAT(unused("strategy: zero2\nhost: {adam_rate: 1e9}\nzero: {offload_optimizer: true}\n"),
              ElementsAre());
  EXPECT_FALSE(counts(read("strategy: flat\n").job, "ddp.comm_hook.powersgd.rank"));
  EXPECT_TRUE(counts(read("").job, "ddp.comm_hook.powersgd.rank"));
}

}  // namespace
}  // namespace ddpsim::testing
