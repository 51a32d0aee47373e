#pragma once
// Which bucket cap to use: how little the cap matters around the best one, and what PyTorch's default costs.
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "sim/report/shown_table.hpp"
#include "sim/result/sweep_result.hpp"

namespace ddpsim {

// Caps within this much of the best count as equally good.
inline constexpr double kPlateau = 0.005;

// First and last of those around `best` that are as good.
template <class Iterator, class IsAsGood>
std::pair<Iterator, Iterator> plateau_around(Iterator best, Iterator begin, Iterator end,
                                             IsAsGood is_as_good) {
  auto first = best, last = best;
  while (first != begin && is_as_good(*(first - 1))) --first;
  while (last + 1 != end && is_as_good(*(last + 1))) ++last;
  return {first, last};
}

struct CapAdvice {
  enum class Edge { none, smallest, largest };

  std::string group;     // SweepGroup::name
  std::size_t best = 0;  // point
  Bytes cap;             // of it
  Seconds iteration;
  Bytes least;                      // the swept caps from here
  std::optional<Bytes> most;        // to here are within kPlateau of the best; none: and all larger ones
  std::vector<Bytes> as_good = {};  // all such caps that were swept, in order; empty where every cap was
  std::size_t caps_tried = 0;
  Edge edge = Edge::none;  // where the best is the last swept cap, and one beyond it may be better
  std::optional<WithDefaultCap> with_default = {};

  [[nodiscard]] bool default_is_as_good() const { return is_within_plateau() || default_is_tied(); }
  [[nodiscard]] bool is_within_plateau() const {
    return with_default && with_default->iteration <= iteration * (1 + kPlateau);
  }
  // It cannot be told apart from the best.
  [[nodiscard]] bool default_is_tied() const {
    return with_default && with_default->odds && with_default->odds->is_tied;
  }
};

// One per group whose best point has a cap of strategy ddp.
std::vector<CapAdvice> cap_advice(const SweepResult& result);

// The argument of DistributedDataParallel: the shortest number of MiB that gives exactly these bytes.
std::string bucket_cap_mb(Bytes cap);

// "244.1 MiB, 309.9 MiB, 499.9 MiB", "40 of 1000 from 200 MiB to 1 GiB and above"; of every cap "244.1 MiB to
// 499.9 MiB".
std::string plateau_text(const CapAdvice& advice);
std::string default_cap_text(const WithDefaultCap& d);  // "25 MiB (first 1 MiB)"
// "87 % sure that it takes longer, 1.2 % on average"
std::string longer_text(const Odds& of_default);

// The advice for each of several groups.
ShownTable cap_table(const SweepResult& result, const std::vector<CapAdvice>& advice);

// What to pass to DistributedDataParallel: a round number of MiB that makes the same buckets, where one does.
std::string cap_argument(const SweepResult& result, const CapAdvice& advice);

// What the best cap is worth, in a sentence: "Keep the default, 25 MiB: no cap tried gains more than 0.2 %."
std::string cap_verdict(const SweepResult& result, const CapAdvice& advice);
// A sentence a line, the last one to paste. For the only group.
std::vector<std::string> advice_lines(const SweepResult& result, const CapAdvice& advice);

}  // namespace ddpsim
