#include "sim/evidence/choice.hpp"

#include <algorithm>

#include "sim/base/check.hpp"

namespace ddpsim {

Choice::Choice(std::vector<std::vector<Seconds>> alternatives, Weights weights)
    : alternatives_(std::move(alternatives)),
      weights_(std::move(weights)),
      probability_(alternatives_.size()),
      regret_(alternatives_.size()) {
  DDPSIM_CHECK(!alternatives_.empty() && !alternatives_.front().empty(), "there is something to choose");
  auto draws = alternatives_.front().size();
  for (std::size_t draw = 0; draw < draws; ++draw) total_ += weight(draw);
  for (std::size_t draw = 0; draw < draws; ++draw) {
    auto fastest = alternatives_.front()[draw];
    for (const auto& one : alternatives_) fastest = std::min(fastest, one[draw]);
    auto winners = std::ranges::count(alternatives_, fastest, [&](const auto& one) { return one[draw]; });
    for (std::size_t i = 0; i < alternatives_.size(); ++i) {
      double more = alternatives_[i][draw] / fastest - 1;
      if (more == 0) probability_[i] += weight(draw) / (static_cast<double>(winners) * total_);
      regret_[i] += weight(draw) / total_ * more;
    }
  }
}

std::size_t Choice::best() const {
  return static_cast<std::size_t>(std::ranges::min_element(regret_) - regret_.begin());
}

std::vector<std::size_t> Choice::ties(std::size_t than, double within, double sure) const {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < alternatives_.size(); ++i) {
    double slower = 0;
    for (std::size_t draw = 0; draw < alternatives_[i].size(); ++draw)
      if (alternatives_[i][draw] > (1 + within) * alternatives_[than][draw]) slower += weight(draw);
    if (i == than || slower < sure * total_) found.push_back(i);
  }
  return found;
}

}  // namespace ddpsim
