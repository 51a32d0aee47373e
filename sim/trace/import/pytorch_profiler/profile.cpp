#include "sim/trace/import/pytorch_profiler/profile.hpp"

#include <algorithm>

#include "sim/trace/compressed_text.hpp"
#include "sim/trace/import/pytorch_profiler/event_reader.hpp"
#include "sim/trace/import/pytorch_profiler/profile_builder.hpp"

namespace ddpsim::pytorch_profiler {

std::vector<Span> united(std::vector<Span> spans) {
  std::sort(spans.begin(), spans.end(), [](const Span& a, const Span& b) { return a.start < b.start; });
  std::vector<Span> all;
  for (const auto& span : spans) {
    if (all.empty() || span.start >= all.back().end)
      all.push_back(span);
    else
      all.back().end = std::max(all.back().end, span.end);
  }
  return all;
}

Time time_within(const std::vector<Span>& spans, Span span) {
  Time time{};
  auto first = std::lower_bound(spans.begin(), spans.end(), span.start,
                                [](const Span& one, Time moment) { return one.end < moment; });
  for (auto one = first; one != spans.end() && one->start < span.end; ++one)
    time += std::min(one->end, span.end) - std::max(one->start, span.start);
  return time;
}

const Launch* find_launch(const Profile& profile, std::int64_t correlation) {
  const auto& launches = profile.launches;
  auto found =
      std::lower_bound(launches.begin(), launches.end(), correlation,
                       [](const Launch& launch, std::int64_t key) { return launch.correlation < key; });
  return found != launches.end() && found->correlation == correlation ? &*found : nullptr;
}

Profile read_profile(const std::string& path, const std::function<void(double)>& progress) {
  CompressedText text(path, "a trace of the PyTorch profiler", progress);
  ProfileBuilder builder(text);
  auto facts = read_events(text, [&builder](const Event& event) { builder.add(event); });
  if (facts.complete_events == 0)
    throw text.file_error(facts.begin_or_end_events == 0
                              ? "has no events"
                              : "has events of ph \"B\" and \"E\" only, which are not understood",
                          "the PyTorch profiler writes complete events, ph \"X\"");
  auto profile = builder.finish();
  profile.device_names = std::move(facts.device_names);
  profile.world_size = facts.world_size;
  profile.nccl_version = std::move(facts.nccl_version);
  return profile;
}

}  // namespace ddpsim::pytorch_profiler
