// Pipelines of which a rank of each stage was recorded: what a schedule takes by hand, and recordings that do
// not fit together. The stages are written as torch.distributed.pipelining's schedules issue them.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/config/overrides.hpp"
#include "sim/engine/simulator.hpp"
#include "sim/resolve/resolve.hpp"
#include "sim/study/scenario_metrics.hpp"
#include "sim/trace/recorded_step.hpp"

#include "tests/support/temporary_folder.hpp"

namespace ddpsim::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

struct Job {
  int stages = 2, copies = 1, micro_batches = 4;
  double message = 4;      // bytes
  double forward = 3e9;    // bytes that a copy writes: a millisecond or so; backward twice
  bool reduces = false;    // among copies
  std::string extra = {};  // items behind the last
};

// The recording of a rank, line by line.
class Stage {
 public:
  Stage(const Job& job, int stage, int copy) : job_(job), stage_(stage) {
    world_ = job.stages * job.copies;
    rank_ = stage * job.copies + copy;
    text_ = fmt::format(
        R"({{"kind":"recording","version":1,"script":["pipe.py"],"world_size":{},"rank":{},"groups":[{{"name":"pp","first":{},"stride":{},"count":{}}},{{"name":"dp","first":{},"stride":1,"count":{}}}],"parameters":[["w",[2],2,"float32",true]],"modules":[""]}})"
        "\n",
        world_, rank_, copy, job.copies, job.stages, stage * job.copies, job.copies);
  }

  // ScheduleGPipe.
  std::string gpipe() {
    for (int m = 0; m < job_.micro_batches; ++m) {
      if (stage_ > 0) wait({receive(stage_ - 1)});
      compute("forward", job_.forward);
      if (stage_ + 1 < job_.stages) sent_.push_back(send(stage_ + 1));
    }
    for (int m = 0; m < job_.micro_batches; ++m) {
      if (stage_ + 1 < job_.stages) wait({receive(stage_ + 1)});
      compute("backward", 2 * job_.forward);
      if (stage_ > 0) sent_.push_back(send(stage_ - 1));
    }
    return end();
  }

  // Schedule1F1B: an output goes in one batch with the gradient that comes next, and the other way round.
  std::string one_f_one_b() {
    bool is_last = stage_ + 1 == job_.stages;
    int warmup = std::min(job_.micro_batches, job_.stages - stage_), forwards = 0, backwards = 0;
    int send_of_warmup = -1;
    for (; forwards < warmup; ++forwards) {
      if (stage_ > 0) wait({receive(stage_ - 1)});
      if (send_of_warmup >= 0) wait({send_of_warmup});
      compute("forward", job_.forward);
      if (!is_last && forwards + 1 < warmup) send_of_warmup = send(stage_ + 1);
    }
    while (true) {
      if (!is_last) exchange(stage_ + 1, true);
      compute("backward", 2 * job_.forward);
      ++backwards;
      if (forwards == job_.micro_batches) break;
      if (stage_ > 0) exchange(stage_ - 1, true);
      compute("forward", job_.forward);
      ++forwards;
    }
    if (stage_ > 0) sent_.push_back(send(stage_ - 1));
    for (; backwards < job_.micro_batches; ++backwards) {
      if (!is_last) wait({receive(stage_ + 1)});
      compute("backward", 2 * job_.forward);
      if (stage_ > 0) sent_.push_back(send(stage_ - 1));
    }
    return end();
  }

 private:
  int line(const std::string& item) {
    text_ += item + "\n";
    return number_++;
  }
  void compute(const char* phase, double bytes) {
    last_ = line(fmt::format(R"({{"operator":"copy_","read":0,"written":{:.0f},"phase":"{}","module":0}})",
                             bytes, phase));
  }
  int message(const char* what, int stage, int batch) {
    int peer = stage * job_.copies + rank_ % job_.copies;
    return line(fmt::format(
        R"({{"collective":"{}","group":0,"bytes":{:.0f},"phase":"forward","peer":{},{}"on":[{}]}})", what,
        job_.message, peer, batch < 0 ? "" : fmt::format("\"batch\":{},", batch),
        last_ < 0 ? "" : std::to_string(last_)));
  }
  int send(int stage, int batch = -1) { return message("send", stage, batch); }
  int receive(int stage, int batch = -1) { return message("recv", stage, batch); }
  void exchange(int stage, bool sends_first) {
    int batch = batches_++;
    int one = sends_first ? send(stage, batch) : receive(stage, batch);
    wait({one, sends_first ? receive(stage, batch) : send(stage, batch)});
  }
  void wait(const std::vector<int>& items) { line(fmt::format(R"({{"wait":[{}]}})", fmt::join(items, ","))); }
  std::string end() {
    if (!sent_.empty()) wait(sent_);
    if (job_.reduces) {
      wait({line(fmt::format(
          R"({{"collective":"all_reduce","group":1,"bytes":8,"phase":"optimizer","on":[{}]}})", last_))});
    }
    compute("optimizer", 1);
    if (!job_.extra.empty()) line(job_.extra);
    return text_;
  }

  const Job& job_;
  int stage_, world_, rank_, number_ = 0, last_ = -1, batches_ = 0;
  std::string text_;
  std::vector<int> sent_;
};

using Schedule = std::string (Stage::*)();

struct Recorded {
  TemporaryFolder folder;
  std::vector<std::string> paths;
  std::string add(const std::string& text) {
    return paths.emplace_back(folder.write(fmt::format("step-{}.jsonl", paths.size()), text));
  }
};

Scenario scenario(const std::vector<std::string>& paths, int world,
                  const std::vector<std::string>& settings = {}) {
  auto text = fmt::format(
      "workload: {{recording: [{}]}}\ncluster: {{topology: superpod-h100, world_size: {}}}\n"
      "physics: none\nevidence: none\n",
      fmt::join(paths, ", "), world);
  auto root = config::parse_yaml({make_source("recorded.yaml", text), text}, "a scenario");
  for (const auto& one : settings) config::apply_override(root, one);
  return resolve(Files("recorded.yaml"), root);
}

Scenario scenario(const Job& job, Schedule schedule, const std::vector<std::string>& settings = {}) {
  Recorded files;
  for (int stage = 0; stage < job.stages; ++stage) files.add((Stage(job, stage, 0).*schedule)());
  return scenario(files.paths, job.stages * job.copies, settings);
}

double seconds(const Scenario& of) {
  return Simulator()(of).timeline.last_to_finish().duration().value();
}
// Of a micro-batch forward, as it was timed.
double forward_of(const Scenario& of) {
  const auto& step = *of.trace->steps.front();
  for (std::size_t i = 0; i < step.times.size(); ++i)
    if (step.times[i] > Seconds()) return step.times[i].value();
  return 0;
}

// m micro-batches through p equal stages: m + p - 1 forward and as many backward passes, in either schedule;
// four bytes take microseconds beside milliseconds.
TEST(RecordedPipeline, SchedulesTakeWhatTheyDoByHand) {
  for (int stages : {2, 4})
    for (auto schedule : {&Stage::gpipe, &Stage::one_f_one_b}) {
      auto of = scenario({.stages = stages, .micro_batches = 6}, schedule);
      double by_hand = (6 + stages - 1) * 3 * forward_of(of);
      EXPECT_GT(seconds(of), by_hand);
      EXPECT_NEAR(seconds(of) / by_hand, 1, 0.02) << stages;
    }
}

// One micro-batch: forward, its output on the way, forward, backward, its gradient on the way, backward.
TEST(RecordedPipeline, AMessageOnTheWayIsWaitedFor) {
  auto small = scenario({.micro_batches = 1}, &Stage::gpipe);
  auto large = scenario({.micro_batches = 1, .message = 1e9}, &Stage::gpipe);
  auto spans = Simulator()(large).timeline.rank_classes.front().communication;
  ASSERT_EQ(spans.size(), 2U);
  Seconds on_the_way;
  for (const auto& span : spans) on_the_way += span.end - span.start;
  EXPECT_GT(on_the_way, Seconds(4e-3)) << "2 GB at 450 GB/s";
  EXPECT_NEAR(seconds(large), 6 * forward_of(large) + on_the_way.value(), 25e-6) << "and a kernel's launch";
  EXPECT_GT(seconds(large), seconds(small));
}

// Copies of a pipeline do the same at the same times, and ranks of a stage reduce with one another.
TEST(RecordedPipeline, EveryCopyDoesAsTheRecordedOne) {
  auto one = scenario({}, &Stage::one_f_one_b);
  auto two = scenario({.copies = 2, .reduces = true}, &Stage::one_f_one_b);
  EXPECT_NEAR(seconds(two) / seconds(one), 1, 0.02);
  for (const auto& ranks : two.groups.front().rank_classes)
    EXPECT_EQ(ranks.program, ranks.rank < 2 ? 0U : 1U) << ranks.rank;
  // Recordings may be of different copies.
  Job job{.copies = 2, .reduces = true};
  Recorded files;
  files.add(Stage(job, 0, 1).one_f_one_b());
  files.add(Stage(job, 1, 0).one_f_one_b());
  EXPECT_EQ(seconds(scenario(files.paths, 4)), seconds(two));
}

TEST(RecordedPipeline, EveryWayToSimulateItAgrees) {
  Job job{.copies = 2, .message = 1e6, .reduces = true};
  auto lazy = seconds(scenario(job, &Stage::one_f_one_b));
  for (const auto* fidelity : {"exact", "folded"})
    EXPECT_NEAR(
        seconds(scenario(job, &Stage::one_f_one_b, {std::string("engine.fidelity=") + fidelity})) / lazy, 1,
        0.001)
        << fidelity;
}

// Stage 0 computes 6 of 9 times; the others' 3 it waits, and nothing is on the way but 8 messages.
TEST(RecordedPipeline, WaitingForStagesIsABubble) {
  auto of = scenario({.micro_batches = 2}, &Stage::gpipe);
  auto timeline = Simulator()(of);
  auto metrics = metrics_of(of, {timeline.timeline, {}, {}, 0});
  EXPECT_NEAR(metrics.bubble.value() / (3 * forward_of(of)), 1, 0.02);
  EXPECT_LT(metrics.exposed_communication.value(), 1e-4);
  EXPECT_NEAR(metrics.scaling_efficiency.value(), 6.0 / 9, 0.01);
}

TEST(RecordedPipeline, AStageWaitsForItsSlowestRank) {
  auto usual = scenario({.copies = 2}, &Stage::gpipe);
  auto slow = scenario({.copies = 2}, &Stage::gpipe, {"workload.stragglers=[{rank: 3, slowdown: 2}]"});
  // The second stage of the second copy computes twice as long: one pass of the first, four and their
  // gradients of the second at half the speed, and one.
  EXPECT_NEAR(seconds(slow) / forward_of(usual), 3 + 4 * 6, 0.3);
}

TEST(RecordedPipeline, SaysWhatDoesNotFitTogether) {
  auto refuses = [](const std::vector<std::string>& texts, int world, const auto& message) {
    Recorded files;
    for (const auto& text : texts) files.add(text);
    EXPECT_THAT([&] { scenario(files.paths, world); }, ThrowsMessage<InputError>(message));
  };
  Job job{.stages = 4}, wide{.stages = 4, .copies = 2}, more{.stages = 4, .micro_batches = 5},
      larger{.stages = 4, .message = 8};
  auto stage = [](const Job& of, int number) { return Stage(of, number, 0).gpipe(); };
  refuses({stage(job, 0)}, 4, HasSubstr("rank 0 sends to rank 1, and what rank 1 does is in no recording"));
  refuses({stage(job, 0), stage(job, 1), stage(job, 3)}, 4,
          AllOf(HasSubstr("what rank 2 does is in no recording"), HasSubstr("--ranks 0,1,2,3")));
  refuses(
      {stage(job, 0), stage(wide, 1)}, 4,
      AllOf(HasSubstr("step-1.jsonl:1:"), HasSubstr("one of 8 ranks, and rank 0 was recorded as one of 4")));
  refuses({stage(job, 0), stage(job, 0)}, 4, HasSubstr("rank 0 is there already"));
  refuses({stage(wide, 0), Stage(wide, 0, 1).gpipe()}, 8, HasSubstr("rank 1 does what rank 0 does"));
  refuses({stage(more, 0), stage(job, 1), stage(job, 2), stage(job, 3)}, 4,
          AllOf(HasSubstr("step-0.jsonl:"), HasSubstr("rank 0 sends 4 B to rank 1 (number 5 of these)"),
                HasSubstr("rank 1 has no such")));
  refuses({stage(job, 0), stage(larger, 1), stage(larger, 2), stage(larger, 3)}, 4,
          HasSubstr("rank 1 receives 8 B from rank 0 (number 1 of these), and rank 0 sends 4 B to rank 1"));
}

// Each sends before it receives, one message after the other on the stream of the pair.
TEST(RecordedPipeline, RanksThatWaitForOneAnotherAreAnError) {
  auto rank = [](int own, int other) {
    return fmt::format(
        R"({{"kind":"recording","version":1,"world_size":2,"rank":{},"groups":[{{"name":"pp","first":0,"stride":1,"count":2}}],"parameters":[["w",[2],2,"float32",true]],"modules":[]}}
{{"operator":"copy_","read":0,"written":1e9,"phase":"forward"}}
{{"collective":"send","group":0,"bytes":4,"phase":"forward","peer":{},"on":[0]}}
{{"collective":"recv","group":0,"bytes":4,"phase":"forward","peer":{},"on":[0]}}
)",
        own, other, other);
  };
  Recorded files;
  files.add(rank(0, 1));
  files.add(rank(1, 0));
  EXPECT_THAT([&] { scenario(files.paths, 2); },
              ThrowsMessage<InputError>(AllOf(HasSubstr("step-0.jsonl:3:"),
                                              HasSubstr("it never ends: ranks wait for ever"),
                                              HasSubstr("batch_isend_irecv"))));
}

// Without messages: each does its own work, and the all-reduce waits for the slower.
TEST(RecordedPipeline, EveryRankMayBeRecorded) {
  Recorded files;
  for (int own = 0; own < 2; ++own)
    files.add(fmt::format(
        R"({{"kind":"recording","version":1,"world_size":2,"rank":{},"groups":[{{"name":"world","first":0,"stride":1,"count":2}}],"parameters":[["w",[2],2,"float32",true]],"modules":[]}}
{{"operator":"copy_","read":0,"written":{}e9,"phase":"forward"}}
{{"collective":"all_reduce","group":0,"bytes":4,"phase":"forward","on":[0]}}
)",
        own, 1 + 2 * own));
  auto of = scenario(files.paths, 2);
  auto timeline = Simulator()(of).timeline;
  ASSERT_EQ(timeline.rank_classes.size(), 2U);
  auto first_of = [&](std::size_t ranks) {
    const auto& span = timeline.rank_classes[ranks].compute.front();
    return span.end - span.start;
  };
  EXPECT_NEAR(first_of(1) / first_of(0), 3, 0.1);
  EXPECT_NEAR(seconds(of), 3 * forward_of(of), 0.1 * forward_of(of));
}

// Groups of any ranks, where every rank is recorded: 0, 1 and 3 of four.
TEST(RecordedPipeline, GroupsOfAnyRanksAreCommunicatorsOfThem) {
  auto rank = [](int own) {
    bool is_in = own != 2;
    return fmt::format(
        R"({{"kind":"recording","version":1,"world_size":4,"rank":{},"groups":[{{"name":"world","first":0,"stride":1,"count":4}}{}],"parameters":[["w",[2],2,"float32",true]],"modules":[]}}
{{"operator":"copy_","read":0,"written":{},"phase":"forward"}}
{}{{"collective":"all_reduce","group":0,"bytes":4,"phase":"forward","on":[0]}}
)",
        own, is_in ? R"(,{"name":"odd","ranks":[0,1,3]})" : "", own == 2 ? "1" : "1e9",
        is_in ? R"({"collective":"all_reduce","group":1,"bytes":1e9,"phase":"forward","on":[0]})"
                "\n"
              : "");
  };
  Recorded files;
  for (int own = 0; own < 4; ++own) files.add(rank(own));
  auto of = scenario(files.paths, 4);
  std::vector<std::size_t> sizes;
  for (const auto& group : of.communication->groups) sizes.push_back(group.size());
  EXPECT_EQ(sizes, (std::vector<std::size_t>{4, 3}));
  auto timeline = Simulator()(of).timeline;
  for (const auto& ranks : timeline.rank_classes)
    EXPECT_EQ(ranks.communication.size(), ranks.rank == 2 ? 1U : 2U) << ranks.rank;
}

}  // namespace
}  // namespace ddpsim::testing
