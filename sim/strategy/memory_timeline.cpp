#include "sim/strategy/memory_timeline.hpp"

#include <map>
#include <numeric>
#include <optional>
#include <utility>

#include <fmt/format.h>

namespace ddpsim {
namespace {

class TimelineMaker {
 public:
  TimelineMaker(const StageMemory& memory, std::span<const PipelineTask> order,
                std::span<const std::int64_t> blocks)
      : memory_(memory), order_(order), blocks_(blocks) {
    std::exclusive_scan(blocks.begin(), blocks.end(), std::back_inserter(first_), std::int64_t{0});
    all_ = first_.back() + blocks.back();
    for (const auto& [pass, beside] : order) {
      last_[pass.chunk] = pass.micro_batch;
      if (beside) last_[beside->chunk] = beside->micro_batch;
    }
  }

  std::vector<MemoryEvent> take() {
    const auto& always = memory_.always;
    hold("parameters", always.parameters);
    hold("optimizer", always.optimizer);
    hold("gradients", always.gradients);
    hold("buckets", always.buckets);
    hold("workspaces", always.workspaces);
    for (std::int64_t block = 0; block < all_; ++block)
      casts_.push_back(hold(fmt::format("casts of block {}", block), part(memory_.casts)));
    auto unit = hold("gathered embedding and head", memory_.units.loss);
    for (const auto& [pass, beside] : order_) {
      compute(pass);
      if (beside) compute(*beside);
    }
    let_go(unit);
    for_a_moment("last reduction", memory_.worked + memory_.units.end);
    for (auto gradient : gradients_) let_go(gradient);
    return std::move(events_);
  }

 private:
  using Held = std::optional<std::size_t>;

  Held hold(std::string what, Bytes bytes) {
    if (bytes <= Bytes()) return std::nullopt;
    events_.push_back({std::move(what), bytes, allocations_.size(), false});
    allocations_.push_back(events_.size() - 1);
    return events_.back().allocation;
  }
  void let_go(Held held) {
    if (!held) return;
    auto event = events_[allocations_[*held]];
    event.is_freed = true;
    events_.push_back(std::move(event));
  }
  void for_a_moment(std::string what, Bytes bytes) { let_go(hold(std::move(what), bytes)); }

  void compute(const PipelinePass& pass) {
    switch (pass.kind) {
      case PassKind::forward:
        return forward(pass);
      case PassKind::input_gradient:
        return work(pass);
      case PassKind::backward:
        work(pass);
        [[fallthrough]];
      case PassKind::weight_gradient:
        return backward(pass);
    }
  }
  [[nodiscard]] std::int64_t first(const PipelinePass& pass) const {
    return first_[static_cast<std::size_t>(pass.chunk)];
  }
  [[nodiscard]] std::int64_t blocks(const PipelinePass& pass) const {
    return blocks_[static_cast<std::size_t>(pass.chunk)];
  }

  // Of a block.
  [[nodiscard]] Bytes part(Bytes all) const { return all / static_cast<double>(all_); }

  void forward(const PipelinePass& pass) {
    auto& kept = kept_[{pass.chunk, pass.micro_batch}];
    for (std::int64_t block = 0; block < blocks(pass); ++block)
      kept.push_back(hold(fmt::format("block {}, micro-batch {}", first(pass) + block, pass.micro_batch),
                          part(memory_.kept)));
    if (static_cast<std::size_t>(pass.chunk) + 1 == blocks_.size())
      for_a_moment(fmt::format("loss, micro-batch {}", pass.micro_batch), memory_.loss);
  }
  void work(const PipelinePass& pass) {
    for_a_moment(fmt::format("backward pass, micro-batch {}", pass.micro_batch),
                 memory_.worked + memory_.units.backward - memory_.units.loss);
  }
  void backward(const PipelinePass& pass) {
    auto kept = std::exchange(kept_[{pass.chunk, pass.micro_batch}], {});
    bool is_last = last_[pass.chunk] == pass.micro_batch;
    for (auto block = static_cast<std::int64_t>(kept.size()); block-- > 0;) {
      let_go(kept[static_cast<std::size_t>(block)]);
      if (!is_last) continue;
      let_go(casts_[static_cast<std::size_t>(first(pass) + block)]);
      gradients_.push_back(
          hold(fmt::format("gradients of block {}", first(pass) + block), part(memory_.gradients)));
    }
  }

  const StageMemory& memory_;
  std::span<const PipelineTask> order_;
  std::span<const std::int64_t> blocks_;
  std::vector<std::int64_t> first_;  // by chunk
  std::int64_t all_ = 0;
  std::map<int, int> last_;  // by chunk its last micro-batch
  std::map<std::pair<int, int>, std::vector<Held>> kept_;
  std::vector<Held> casts_, gradients_;
  std::vector<std::size_t> allocations_;  // their events
  std::vector<MemoryEvent> events_;
};

}  // namespace

std::vector<MemoryEvent> memory_timeline(const StageMemory& memory, std::span<const PipelineTask> order,
                                         std::span<const std::int64_t> blocks) {
  return TimelineMaker(memory, order, blocks).take();
}

std::vector<Bytes> levels(std::span<const MemoryEvent> events) {
  std::vector<Bytes> levels;
  Bytes now;
  for (const auto& event : events) levels.push_back(event.is_freed ? now -= event.bytes : now += event.bytes);
  return levels;
}

}  // namespace ddpsim
