#include "sim/report/chrome_timeline.hpp"

#include <map>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/report/small_case.hpp"

namespace ddpsim::test {
namespace {

using Json = nlohmann::json;

std::string straggler_text() {
  auto trace = two_gradients();
  auto plan = two_buckets();
  return chrome_timeline_json(with_straggler(), {trace, plan, 4, "ring", "exact"});
}

std::vector<Json> events_of(const std::string& text, const std::string& phase) {
  std::vector<Json> events;
  auto trace = Json::parse(text);
  for (const auto& event : trace["traceEvents"])
    if (event["ph"] == phase) events.push_back(event);
  return events;
}

Json find_span(const std::string& text, int pid, const std::string& name) {
  for (const auto& event : events_of(text, "X"))
    if (event["pid"] == pid && event["name"] == name) return event;
  ADD_FAILURE() << "no span " << name;
  return {};
}

TEST(ChromeTimeline, OneProcessAClassAndTwoLanes) {
  std::map<int, std::string> processes;
  std::map<std::pair<int, int>, std::string> threads;
  for (const auto& event : events_of(straggler_text(), "M")) {
    if (event["name"] == "process_name") processes[event["pid"]] = event["args"]["name"];
    if (event["name"] == "thread_name") threads[{event["pid"], event["tid"]}] = event["args"]["name"];
  }
  EXPECT_EQ(processes,
            (std::map<int, std::string>{{0, "ranks like 0 (3 ranks)"}, {3, "rank 3 (1 rank, 1.5x slower)"}}));
  EXPECT_EQ(threads.size(), 4u);
  EXPECT_EQ((threads[{3, 0}]), "compute");
  EXPECT_EQ((threads[{3, 1}]), "communication");
}

TEST(ChromeTimeline, SpansInMicroseconds) {
  auto text = straggler_text();
  EXPECT_EQ(find_span(text, 3, "backward")["ts"], 1.5e6);
  EXPECT_EQ(find_span(text, 3, "backward")["dur"], 3e6);
  EXPECT_EQ(find_span(text, 0, "wait for communication")["dur"], 3.5e6);  // from 3 s to 6.5 s
  auto bucket = find_span(text, 3, "bucket 1");
  EXPECT_EQ(bucket["tid"], 1);
  EXPECT_EQ(bucket["args"],
            Json({{"bytes", 2000}, {"first", "a"}, {"gradients", 1}, {"last", "a"}, {"ready_us", 4.5e6}}));
  EXPECT_EQ(bucket["cat"], "communication");
}

// Out of the compute that ends with the bucket's last gradient, into its collective.
TEST(ChromeTimeline, AnArrowFromReadyToTheCollective) {
  auto text = straggler_text();
  auto from = events_of(text, "s"), to = events_of(text, "f");
  ASSERT_EQ(from.size(), 4u);
  ASSERT_EQ(to.size(), 4u);
  for (std::size_t i = 0; i < from.size(); ++i) EXPECT_EQ(from[i]["id"], to[i]["id"]);
  EXPECT_EQ(from[3]["tid"], 0);
  EXPECT_NEAR(from[3]["ts"].get<double>(), 4.5e6 - 1e-3, 1e-6);
  EXPECT_EQ(to[3]["tid"], 1);
  EXPECT_EQ(to[3]["ts"], find_span(text, 3, "bucket 1")["ts"]);
}

// 2 GB in 2 s, and in the second of them 1 GB in 1 s beside it.
TEST(ChromeTimeline, CountsWhatIsInFlight) {
  auto rank = plain_rank();
  rank.communication = {{Activity::all_reduce, 0, Seconds(3), Seconds(5), Seconds(0), Bytes(2e9)},
                        {Activity::all_reduce, 1, Seconds(4), Seconds(5), Seconds(0), Bytes(1e9)}};
  auto trace = two_gradients();
  auto plan = two_buckets();
  std::vector<double> bytes, rates;
  for (const auto& event :
       events_of(chrome_timeline_json({{rank}}, {trace, plan, 4, "ring", "exact"}), "C")) {
    if (event["name"] == "bytes in flight") bytes.push_back(event["args"]["bytes"]);
    if (event["name"] == "algbw") rates.push_back(event["args"]["GB/s"]);
  }
  EXPECT_EQ(bytes, (std::vector<double>{2e9, 3e9, 0}));
  EXPECT_EQ(rates, (std::vector<double>{1, 2, 0}));
}

TEST(ChromeTimeline, ReadyMarksOnTheComputeLane) {
  auto marks = events_of(straggler_text(), "i");
  ASSERT_EQ(marks.size(), 4u);
  EXPECT_EQ(marks[3]["name"], "bucket 1 ready");
  EXPECT_EQ(marks[3]["tid"], 0);
  EXPECT_EQ(marks[3]["ts"], 4.5e6);
}

TEST(ChromeTimeline, SpansOfALaneDoNotOverlap) {
  std::map<std::pair<int, int>, double> end;
  for (const auto& event : events_of(straggler_text(), "X")) {
    auto& lane_end = end[{event["pid"], event["tid"]}];
    EXPECT_GE(event["ts"].get<double>(), lane_end) << event;
    EXPECT_GT(event["dur"].get<double>(), 0) << event;
    lane_end = event["ts"].get<double>() + event["dur"].get<double>();
  }
}

TEST(ChromeTimeline, CollectivesInFlightAtOnceHaveThreadsOfTheirOwn) {
  auto rank = plain_rank();
  rank.communication[0].end = Seconds(4);  // beside bucket 1
  auto trace = two_gradients();
  auto plan = two_buckets();
  auto text = chrome_timeline_json({{rank}}, {trace, plan, 4, "ring", "exact"});
  EXPECT_EQ(find_span(text, 0, "bucket 0")["tid"], 1);
  EXPECT_EQ(find_span(text, 0, "bucket 1")["tid"], 2);
  EXPECT_NE(text.find("\"communication 2\""), std::string::npos);
}

TEST(ChromeTimeline, TheEarliestSpanStartsAtZero) {
  auto timeline = with_straggler();
  for (auto& ranks : timeline.rank_classes) {
    for (auto* lane : {&ranks.compute, &ranks.communication})
      for (auto& span : *lane) span.start -= Seconds(1.5), span.end -= Seconds(1.5);
    for (auto& ready : ranks.bucket_ready) ready -= Seconds(1.5);
  }
  auto trace = two_gradients();
  auto plan = two_buckets();
  EXPECT_EQ(chrome_timeline_json(timeline, {trace, plan, 4, "ring", "exact"}), straggler_text());
}

TEST(ChromeTimeline, NumbersMicroBatchesAndNamesTheBitmap) {
  auto trace = two_gradients();
  auto plan = two_buckets();
  plan.accumulation_steps = 2;
  plan.used_parameter_bitmap = Bytes(8);
  auto rank = plain_rank();
  rank.communication.push_back(
      {Activity::used_parameter_bitmap, 0, Seconds(5), Seconds(5.25), Seconds(0), Bytes(8)});
  auto text = chrome_timeline_json({{rank}}, {trace, plan, 4, "ring", "exact"});
  EXPECT_EQ(find_span(text, 0, "forward")["args"], Json({{"micro_batch", 0}}));
  EXPECT_EQ(find_span(text, 0, "used-parameter bitmap")["args"], Json({{"bytes", 8}}));
}

TEST(ChromeTimeline, OneEventALine) {
  auto rank = plain_rank();
  rank.compute.resize(1);
  rank.communication.clear();
  rank.bucket_ready.clear();
  auto trace = two_gradients();
  auto plan = two_buckets();
  EXPECT_EQ(chrome_timeline_json({{rank}}, {trace, plan, 4, "ring", "exact"}),
            R"json({"displayTimeUnit": "ms", "traceEvents": [
{"name":"process_name","ph":"M","pid":0,"tid":0,"args":{"name":"ranks like 0 (4 ranks)"}},
{"name":"process_sort_index","ph":"M","pid":0,"tid":0,"args":{"sort_index":0}},
{"name":"thread_name","ph":"M","pid":0,"tid":0,"args":{"name":"compute"}},
{"name":"thread_sort_index","ph":"M","pid":0,"tid":0,"args":{"sort_index":0}},
{"name":"thread_name","ph":"M","pid":0,"tid":1,"args":{"name":"communication"}},
{"name":"thread_sort_index","ph":"M","pid":0,"tid":1,"args":{"sort_index":1}},
{"name":"forward","ph":"X","pid":0,"tid":0,"cat":"compute","ts":0.0,"dur":1000000.0}
]}
)json");
}

}  // namespace
}  // namespace ddpsim::test
