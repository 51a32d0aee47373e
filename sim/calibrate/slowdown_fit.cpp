#include "sim/calibrate/slowdown_fit.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "sim/base/statistics.hpp"

namespace ddpsim::calibrate {
namespace {

// The times of work that ran alone.
class TimesAlone {
 public:
  explicit TimesAlone(std::span<const TimedWork> works) {
    for (const auto& work : works)
      if (work.beside == Seconds(0) && !work.disturbed)
        for (const auto& identity : work.identities) times_[identity].push_back(work.duration.value());
  }
  // Null where none did.
  [[nodiscard]] const std::vector<double>* find(const WorkIdentity& identity) const {
    auto found = times_.find(identity);
    return found == times_.end() ? nullptr : &found->second;
  }

 private:
  std::map<WorkIdentity, std::vector<double>> times_;
};

bool are_equal(const std::vector<double>& times) {
  auto [least, most] = std::minmax_element(times.begin(), times.end());
  return *most - *least <= kEqualTimes * median(times);
}

struct Counterpart {
  bool exists = false;          // also where times are not equal
  std::optional<double> alone;  // how long the work takes alone
};

Counterpart counterpart(const TimedWork& work, const TimesAlone& here, const TimesAlone& reference) {
  Counterpart found;
  for (const auto& identity : work.identities)
    for (const auto* times : {here.find(identity), reference.find(identity)}) {
      if (!times) continue;
      found.exists = true;
      if (!are_equal(*times)) continue;
      found.alone = median(*times);
      return found;
    }
  return found;
}

// Of the time beside the other sort, `lost` got nothing done.
struct Loss {
  double lost = 0, beside = 0;
  [[nodiscard]] double share() const { return lost / beside; }
};

double slowdown_of(double lost_share) {
  return lost_share < 1 ? lost_share / (1 - lost_share) : std::numeric_limits<double>::infinity();
}

// The share below which kinds with this part of the time beside lie; `kinds` by their share, growing.
double weighted_quantile(const std::vector<Loss>& kinds, double beside, double part) {
  double so_far = 0;
  for (const auto& kind : kinds) {
    so_far += kind.beside;
    if (so_far >= part * beside) return kind.share();
  }
  return kinds.back().share();
}

// Of a ratio of sums over kinds (Cochran, Sampling Techniques, 1977, 6.4), and of what slowdown_of makes of
// it.
double standard_error(const std::vector<Loss>& kinds, const Loss& total) {
  double squares = 0, n = static_cast<double>(kinds.size());
  for (const auto& kind : kinds) {
    double residual = kind.lost - total.share() * kind.beside;
    squares += residual * residual;
  }
  double of_share = std::sqrt(n / (n - 1) * squares) / total.beside;
  return of_share / ((1 - total.share()) * (1 - total.share()));
}

void summarize(const std::map<std::uint64_t, Loss>& by_kind, SlowdownFit& fit) {
  std::vector<Loss> kinds;
  Loss total;
  for (const auto& [kind, loss] : by_kind) {
    kinds.push_back(loss);
    total.lost += loss.lost;
    total.beside += loss.beside;
  }
  std::stable_sort(kinds.begin(), kinds.end(),
                   [](const Loss& a, const Loss& b) { return a.share() < b.share(); });
  fit.kinds = kinds.size();
  fit.slowdown = slowdown_of(total.share());
  if (kinds.size() > 1) fit.standard_error = standard_error(kinds, total);
  fit.lower_quartile = slowdown_of(weighted_quantile(kinds, total.beside, 0.25));
  fit.median = slowdown_of(weighted_quantile(kinds, total.beside, 0.5));
  fit.upper_quartile = slowdown_of(weighted_quantile(kinds, total.beside, 0.75));
}

std::optional<double> drift(std::span<const TimedWork> works, const TimesAlone& here,
                            const TimesAlone& reference) {
  double time_here = 0, time_there = 0;
  for (const auto& work : works) {
    if (work.beside > Seconds(0) || work.disturbed || work.identities.empty()) continue;
    const auto* times = reference.find(work.identities.front());
    if (!times) continue;
    time_here += median(*here.find(work.identities.front()));
    time_there += median(*times);
  }
  return time_there > 0 ? std::optional(time_here / time_there - 1) : std::nullopt;
}

}  // namespace

SlowdownFit fit_slowdown(std::span<const TimedWork> works, std::span<const TimedWork> reference) {
  SlowdownFit fit;
  TimesAlone here(works), there(reference);
  std::map<std::uint64_t, Loss> by_kind;
  for (const auto& work : works) {
    if (work.beside == Seconds(0)) continue;
    auto count = [&work](SlowdownFit::Part& part) {
      ++part.count;
      part.beside += work.beside;
    };
    count(fit.all);
    if (work.disturbed) {
      count(fit.disturbed);
      continue;
    }
    auto found = counterpart(work, here, there);
    if (!found.alone) {
      count(found.exists ? fit.unequal : fit.never_alone);
      continue;
    }
    count(fit.compared);
    auto& loss = by_kind[work.kind];
    loss.lost += work.duration.value() - *found.alone;
    loss.beside += work.beside.value();
  }
  if (!by_kind.empty()) summarize(by_kind, fit);
  fit.drift = drift(works, here, there);
  return fit;
}

}  // namespace ddpsim::calibrate
