#pragma once
// How far two timelines of the same scenario are from one another.
#include <algorithm>
#include <cmath>
#include <string>

#include "sim/timeline/timeline.hpp"

namespace ddpsim::testing {

class TimelineDifference {
 public:
  TimelineDifference(const Timeline& a, const Timeline& b) {
    for (const auto* timeline : {&a, &b})
      for (const auto& ranks : timeline->rank_classes)
        for (const auto& span : ranks.compute)
          scale_ = std::max({scale_, std::abs(span.start.value()), std::abs(span.end.value())});
    compare_sizes("rank classes", a.rank_classes.size(), b.rank_classes.size());
    for (std::size_t c = 0; what_.empty() && c < a.rank_classes.size(); ++c)
      compare(a.rank_classes[c], b.rank_classes[c]);
  }

  // Relative to the latest time.
  [[nodiscard]] double largest() const { return largest_; }
  // What cannot be compared.
  [[nodiscard]] const std::string& what() const { return what_; }

 private:
  void compare_sizes(const std::string& what, std::size_t a, std::size_t b) {
    if (a != b) what_ += what + ": " + std::to_string(a) + " and " + std::to_string(b) + "; ";
  }
  void compare(Seconds a, Seconds b) { largest_ = std::max(largest_, std::abs((a - b).value()) / scale_); }
  void compare(const RankTimeline& a, const RankTimeline& b) {
    if (a.rank != b.rank || a.ranks != b.ranks || a.group != b.group || a.group_size != b.group_size ||
        a.slowdown != b.slowdown)
      what_ += "other ranks; ";
    compare(a.backward_start, b.backward_start);
    compare_lanes("compute", a.compute, b.compute);
    compare_lanes("communication", a.communication, b.communication);
    compare_sizes("buckets", a.bucket_ready.size(), b.bucket_ready.size());
    for (std::size_t i = 0; what_.empty() && i < a.bucket_ready.size(); ++i)
      compare(a.bucket_ready[i], b.bucket_ready[i]);
  }
  // Spans too short to tell from rounding may be in one of them only.
  std::vector<Span> without_shortest(const std::vector<Span>& spans) const {
    std::vector<Span> kept;
    for (const auto& span : spans)
      if ((span.end - span.start).value() > 1e-13 * scale_) {
        if (!kept.empty() && kept.back().activity == span.activity && kept.back().index == span.index &&
            (kept.back().lost > Seconds(0)) == (span.lost > Seconds(0)) &&
            (span.start - kept.back().end).value() < 1e-12 * scale_) {
          kept.back().end = span.end;
          kept.back().lost += span.lost;
        } else {
          kept.push_back(span);
        }
      }
    return kept;
  }
  void compare_lanes(const std::string& what, const std::vector<Span>& x, const std::vector<Span>& y) {
    auto a = without_shortest(x), b = without_shortest(y);
    compare_sizes(what + " spans", a.size(), b.size());
    for (std::size_t i = 0; what_.empty() && i < a.size(); ++i) {
      if (a[i].activity != b[i].activity || a[i].index != b[i].index) what_ += what + ": other spans; ";
      compare(a[i].start, b[i].start);
      compare(a[i].end, b[i].end);
      compare(a[i].lost, b[i].lost);
    }
  }

  double scale_ = 1e-9, largest_ = 0;
  std::string what_;
};

}  // namespace ddpsim::testing
