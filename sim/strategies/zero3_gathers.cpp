#include "sim/strategies/zero3_gathers.hpp"

#include <algorithm>
#include <utility>

namespace ddpsim {
namespace {

class Coordinator {
 public:
  Coordinator(const LayerTrace& trace, const std::vector<ModulePass>& modules, const ZeroOptions& options)
      : trace_(trace), modules_(modules), options_(options), states_(trace.gradients.size()) {
    for (std::size_t m = 0; m < modules.size(); ++m) {
      before_.push_back(before_.empty() ? 0 : before_.back() + elements_of(modules[m - 1]));
      for (auto gradient : modules[m].used) {
        queue_.emplace_back(gradient, m);
        states_[gradient].uses.push_back(m);
      }
    }
    for (std::size_t g = 0; g < states_.size(); ++g) {
      states_[g].is_persistent = elements(g) <= options.param_persistence_threshold;
      if (states_[g].is_persistent) result_.persistent += elements(g);
    }
  }

  GatherSchedule take() {
    for (std::size_t m = 0; m < modules_.size(); ++m) {
      ModuleGathers gathers;
      gathers.fetch = gather(modules_[m].used);
      for (auto gradient : modules_[m].used)
        if (auto from = states_[gradient].from; from && !has_ended_[*from]) {
          has_ended_[*from] = true;
          gathers.awaited.push_back(*from);
        }
      while (next_ < queue_.size() && queue_[next_].second <= m) mark(next_++);
      gathers.prefetch = prefetch();
      release(m);
      result_.modules.push_back(std::move(gathers));
    }
    return std::move(result_);
  }

 private:
  struct State {
    std::vector<std::size_t> uses;  // modules
    bool is_persistent = false, is_here = false;
    std::optional<std::size_t> from;  // the last gather of it
    std::size_t fetched_for = 0;      // the module of the last use that was looked at
  };

  [[nodiscard]] std::int64_t elements(std::size_t gradient) const {
    return trace_.gradients[gradient].elements;
  }
  [[nodiscard]] std::int64_t elements_of(const ModulePass& module) const {
    std::int64_t sum = 0;
    for (auto gradient : module.used) sum += elements(gradient);
    return sum;
  }
  void mark(std::size_t place) {
    auto [gradient, module] = queue_[place];
    states_[gradient].fetched_for = std::max(states_[gradient].fetched_for, module);
  }

  // All that are not here, together.
  std::optional<std::size_t> gather(const std::vector<std::size_t>& gradients) {
    std::int64_t sum = 0;
    for (auto gradient : gradients) {
      auto& state = states_[gradient];
      if (state.is_persistent || std::exchange(state.is_here, true)) continue;
      state.from = result_.gathers.size();
      sum += elements(gradient);
    }
    if (sum == 0) return std::nullopt;
    live_ += sum;
    result_.most_live = std::max(result_.most_live, live_);
    result_.gathers.push_back(sum);
    has_ended_.push_back(false);
    return result_.gathers.size() - 1;
  }

  std::optional<std::size_t> prefetch() {
    auto most = std::min(options_.max_live_parameters - live_, options_.prefetch_bucket_size);
    std::vector<std::size_t> wanted;
    std::int64_t sum = 0;
    for (; next_ < queue_.size() && sum < most; ++next_) {
      auto gradient = queue_[next_].first;
      mark(next_);
      const auto& state = states_[gradient];
      if (state.is_persistent || state.is_here ||
          std::find(wanted.begin(), wanted.end(), gradient) != wanted.end())
        continue;
      wanted.push_back(gradient);
      sum += elements(gradient);
    }
    return gather(wanted);
  }

  // Not what is used again before max_reuse_distance elements of other modules, nor whose next use
  // prefetching has passed by because it was here.
  void release(std::size_t module) {
    for (auto gradient : modules_[module].used) {
      auto& state = states_[gradient];
      if (state.is_persistent || state.fetched_for > module) continue;
      auto next = std::upper_bound(state.uses.begin(), state.uses.end(), module);
      if (next != state.uses.end() && before_[*next] - before_[module + 1] < options_.max_reuse_distance)
        continue;
      state.is_here = false;
      live_ -= elements(gradient);
    }
  }

  const LayerTrace& trace_;
  const std::vector<ModulePass>& modules_;
  const ZeroOptions& options_;
  std::vector<State> states_;                               // by gradient
  std::vector<std::pair<std::size_t, std::size_t>> queue_;  // uses: gradient and module
  std::vector<std::int64_t> before_;                        // by module: elements of those before it
  std::vector<bool> has_ended_;                             // by gather: somebody has waited for it
  std::size_t next_ = 0;                                    // of the queue
  std::int64_t live_ = 0;
  GatherSchedule result_;
};

}  // namespace

GatherSchedule schedule_gathers(const LayerTrace& trace, const std::vector<ModulePass>& modules,
                                const ZeroOptions& options) {
  return Coordinator(trace, modules, options).take();
}

}  // namespace ddpsim
