#include "sim/report/chrome_timeline.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <map>
#include <tuple>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "sim/base/check.hpp"
#include "sim/report/timeline_lanes.hpp"

namespace ddpsim {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kComputeThread = 0;
constexpr int kCommunicationThread = 1;  // the first; collectives beside it have others

// What Perfetto shows of an activity, and what it filters by.
struct Shown {
  Activity activity;
  const char* name;  // {}: the span's index
  const char* category;
};
constexpr std::array kShown{Shown{Activity::broadcast, "broadcast", "communication"},
                            Shown{Activity::forward, "forward", "compute"},
                            Shown{Activity::backward, "backward", "compute"},
                            Shown{Activity::wait, "wait for communication", "wait"},
                            Shown{Activity::optimizer, "optimizer", "compute"},
                            Shown{Activity::copy_in, "copy into bucket {}", "copy"},
                            Shown{Activity::copy_out, "copy out of bucket {}", "copy"},
                            Shown{Activity::compress, "compress bucket {}", "copy"},
                            Shown{Activity::launch, "hook or launch", "launch"},
                            Shown{Activity::all_reduce, "bucket {}", "communication"},
                            Shown{Activity::all_gather, "gather unit {}", "communication"},
                            Shown{Activity::reduce_scatter, "reduce bucket {}", "communication"},
                            Shown{Activity::message, "message, rank {} of the pipeline", "communication"},
                            Shown{Activity::used_parameter_bitmap, "used-parameter bitmap", "communication"},
                            Shown{Activity::replicate, "broadcast piece {}", "communication"},
                            Shown{Activity::reduce, "reduce piece {}", "communication"},
                            Shown{Activity::push, "push key {}", "communication"},
                            Shown{Activity::pull, "pull key {}", "communication"},
                            Shown{Activity::serve, "servers busy", "communication"},
                            Shown{Activity::host_copy, "copy between host and GPU", "copy"},
                            Shown{Activity::peer_copy, "outputs between GPUs", "copy"},
                            Shown{Activity::host_wait, "wait for the host's hooks", "wait"},
                            Shown{Activity::all_to_all, "all-to-all {}", "communication"}};

const Shown& shown(Activity activity) {
  const auto* found = std::ranges::find(kShown, activity, &Shown::activity);
  DDPSIM_CHECK(found != kShown.end(), "every activity has a name");
  return *found;
}

// Collectives that carry a bucket which was ready before.
bool carries_bucket(Activity activity) {
  return activity == Activity::all_reduce || activity == Activity::reduce_scatter ||
         activity == Activity::reduce || activity == Activity::push;
}

class Events {
 public:
  explicit Events(const Timeline& timeline, const IterationContext& context)
      : context_(context), mark_(synthetic_mark(context.trace.metadata)) {
    zero_ = earliest(timeline);
  }

  void add_class(const RankTimeline& ranks, int position) {
    auto lanes = lanes_of(ranks.communication);
    int last = kCommunicationThread + (lanes.empty() ? 0 : *std::max_element(lanes.begin(), lanes.end()));
    add_names(ranks, position, last);
    for (const auto& span : ranks.compute) add_span(ranks, kComputeThread, span);
    for (const auto& stream : ranks.other_streams) {
      ++last;
      add_name(ranks, last, fmt::format("stream {}", &stream - ranks.other_streams.data() + 1));
      for (const auto& span : stream) add_span(ranks, last, span);
    }
    for (std::size_t i = 0; i < ranks.bucket_ready.size(); ++i) add_ready(ranks, i);
    for (std::size_t i = 0; i < lanes.size(); ++i) {
      add_span(ranks, kCommunicationThread + lanes[i], ranks.communication[i]);
      add_arrow(ranks, kCommunicationThread + lanes[i], ranks.communication[i]);
    }
    add_counters(ranks);
  }

  // One event a line: as small as no indent, and a diff still shows which event changed.
  [[nodiscard]] std::string text() const {
    std::string out = "{\"displayTimeUnit\": \"ms\", ";
    if (mark_) out += fmt::format("\"otherData\": {}, ", Json{{"trace_synthetic", *mark_}}.dump());
    out += "\"traceEvents\": [\n";
    for (std::size_t i = 0; i < events_.size(); ++i)
      out += events_[i].dump() + (i + 1 < events_.size() ? ",\n" : "\n");
    return out + "]}\n";
  }

 private:
  [[nodiscard]] Json event(const RankTimeline& ranks, int thread, std::string name, const char* phase) const {
    Json json;
    json["name"] = std::move(name);
    json["ph"] = phase;
    json["pid"] = ranks.rank;
    json["tid"] = thread;
    return json;
  }

  void add_metadata(const RankTimeline& ranks, int thread, const char* what, const char* key, Json value) {
    auto json = event(ranks, thread, what, "M");
    json["args"][key] = std::move(value);
    events_.push_back(std::move(json));
  }

  void add_name(const RankTimeline& ranks, int thread, const std::string& name) {
    add_metadata(ranks, thread, "thread_name", "name", name);
    add_metadata(ranks, thread, "thread_sort_index", "sort_index", thread);
  }

  void add_names(const RankTimeline& ranks, int position, int last) {
    add_metadata(ranks, kComputeThread, "process_name", "name",
                 class_name(ranks, context_.shared_model && context_.shared_model->pipeline > 1,
                            mark_ ? ", times estimated" : ""));
    add_metadata(ranks, kComputeThread, "process_sort_index", "sort_index", position);
    for (int thread = kComputeThread; thread <= last; ++thread) {
      std::string name = thread == kComputeThread ? "compute" : "communication";
      if (thread > kCommunicationThread) name += fmt::format(" {}", thread);
      add_name(ranks, thread, name);
    }
  }

  // Whole nanoseconds, so that spans that touch still do after rounding.
  [[nodiscard]] std::int64_t nanoseconds(Seconds time) const {
    return std::llround((time - zero_).value() * 1e9);
  }

  static double microseconds(std::int64_t nanoseconds) { return static_cast<double>(nanoseconds) / 1e3; }

  void add_span(const RankTimeline& ranks, int thread, const Span& span) {
    const auto& [activity, name, category] = shown(span.activity);
    auto json = event(ranks, thread, fmt::format(fmt::runtime(name), span.index), "X");
    json["cat"] = category;
    auto start = nanoseconds(span.start);
    json["ts"] = microseconds(start);
    json["dur"] = microseconds(nanoseconds(span.end) - start);
    if (auto args = arguments(ranks, span); !args.empty()) json["args"] = std::move(args);
    events_.push_back(std::move(json));
  }

  [[nodiscard]] Json arguments(const RankTimeline& ranks, const Span& span) const {
    Json args = Json::object();
    bool micro_batch = span.activity == Activity::forward || span.activity == Activity::backward;
    if (span.lost > Seconds(0)) args["lost_us"] = microseconds(std::llround(span.lost.value() * 1e9));
    if (micro_batch && context_.plan.accumulation_steps > 1) args["micro_batch"] = span.index;
    auto operation = operation_of(span.activity);
    bool is_chosen = !is_chain(operation) && !sends_directly(operation);
    if (context_.choice && span.bytes > Bytes(0) && is_chosen) {
      auto choice = context_.choice(ranks.communicators.at(span.communicator), operation, span.bytes);
      args["algorithm"] = choice.algorithm;
      args["protocol"] = choice.protocol;
      args["channels"] = choice.channels;
    }
    if (context_.plan.buckets.empty()) {
      if (span.bytes > Bytes(0)) args["bytes"] = static_cast<std::int64_t>(span.bytes.value());
      return args;
    }
    if (carries_bucket(span.activity)) {
      const auto& bucket = context_.plan.buckets.at(span.index);
      args["bytes"] = static_cast<std::int64_t>(bucket.bytes.value());
      args["gradients"] = bucket.gradients.size();
      args["first"] = context_.trace.gradients.at(bucket.gradients.front()).name;
      args["last"] = context_.trace.gradients.at(bucket.gradients.back()).name;
      args["ready_us"] = microseconds(nanoseconds(ranks.bucket_ready.at(span.index)));
    }
    if (span.activity == Activity::used_parameter_bitmap)
      args["bytes"] =
          static_cast<std::int64_t>(context_.plan.used_parameter_bitmap.value_or(Bytes(0)).value());
    return args;
  }

  void add_ready(const RankTimeline& ranks, std::size_t bucket) {
    auto json = event(ranks, kComputeThread, fmt::format("bucket {} ready", bucket), "i");
    json["ts"] = microseconds(nanoseconds(ranks.bucket_ready[bucket]));
    json["s"] = "t";  // a mark on this thread only
    events_.push_back(std::move(json));
  }

  // From where a bucket's last gradient is computed to its collective: it leaves the compute span that ends
  // there, which holds the nanosecond before.
  void add_arrow(const RankTimeline& ranks, int thread, const Span& span) {
    if (context_.plan.buckets.empty() || !carries_bucket(span.activity)) return;
    auto ready = nanoseconds(ranks.bucket_ready.at(span.index));
    auto from = event(ranks, kComputeThread, "bucket", "s");
    auto to = event(ranks, thread, "bucket", "f");
    from["ts"] = microseconds(std::max<std::int64_t>(ready - 1, 0));
    to["ts"] = microseconds(nanoseconds(span.start));
    to["bp"] = "e";  // to the span around it, not to the next one
    for (auto* end : {&from, &to}) {
      (*end)["cat"] = "bucket";
      (*end)["id"] = arrows_;
      events_.push_back(std::move(*end));
    }
    ++arrows_;
  }

  // What is in flight, and how fast it goes on average, as they change.
  void add_counters(const RankTimeline& ranks) {
    std::map<std::int64_t, std::pair<double, double>> changes;
    for (const auto& span : ranks.communication) {
      if (span.bytes <= Bytes(0) || span.end <= span.start) continue;
      double bytes = span.bytes.value(), rate = bytes / (span.end - span.start).value() / 1e9;
      auto& start = changes[nanoseconds(span.start)];
      start.first += bytes;
      start.second += rate;
      auto& end = changes[nanoseconds(span.end)];
      end.first -= bytes;
      end.second -= rate;
    }
    double bytes = 0, rate = 0;
    for (auto last = changes.empty() ? 0 : changes.rbegin()->first; const auto& [when, change] : changes) {
      bytes += change.first;
      rate = when == last ? 0 : rate + change.second;  // without what rounding leaves
      for (auto [name, key, value] :
           {std::tuple("bytes in flight", "bytes", std::round(bytes)), {"algbw", "GB/s", rate}}) {
        auto json = event(ranks, kCommunicationThread, name, "C");
        json["ts"] = microseconds(when);
        json["args"][key] = value;
        events_.push_back(std::move(json));
      }
    }
  }

  const IterationContext& context_;
  std::optional<std::string> mark_;
  std::int64_t arrows_ = 0;
  Seconds zero_;
  std::vector<Json> events_;
};

}  // namespace

std::string chrome_timeline_json(const Timeline& timeline, const IterationContext& context) {
  DDPSIM_CHECK(!timeline.rank_classes.empty(), "a timeline has at least one rank");
  Events events(timeline, context);
  for (std::size_t i = 0; i < timeline.rank_classes.size(); ++i)
    events.add_class(timeline.rank_classes[i], static_cast<int>(i));
  return events.text();
}

}  // namespace ddpsim
