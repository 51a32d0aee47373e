#include "sim/replay/executors.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "sim/collective/flow_run.hpp"

namespace ddpsim {
namespace {

class SteppedExecutor : public UnitExecutor {
 public:
  SteppedExecutor(FlowNetwork& network, const FlowUnit& unit) : network_(network), unit_(unit) {}

  void start(Bytes buffer, std::function<void()> done) override {
    run_ = std::make_unique<FlowRun>(network_, unit_, buffer, std::move(done));
    run_->start();
  }

 private:
  FlowNetwork& network_;
  const FlowUnit& unit_;
  std::unique_ptr<FlowRun> run_;
};

class FluidExecutor : public UnitExecutor {
 public:
  FluidExecutor(FlowNetwork& network, const FlowUnit& unit, std::span<const BytesPerSecond> capacities)
      : network_(network), unit_(unit), capacities_(capacities) {}

  void start(Bytes buffer, std::function<void()> done) override {
    done_ = std::move(done);
    left_ = 0;
    for (const auto& channel : unit_.channels) left_ += channel.flows.size();
    for (const auto& channel : unit_.channels) start_channel(channel, buffer);
  }

 private:
  // A flow of a pipeline starts once the first chunk has come as far as its level.
  void start_channel(const FlowChannel& channel, Bytes buffer) {
    int steps = channel.chunking.steps(buffer);
    Bytes chunk = channel.chunking.chunk(buffer);
    for (const Flow& flow : channel.flows) {
      Seconds before =
          static_cast<double>(flow.level) * (flow.latency + flow.piece * chunk / rate_alone(flow));
      network_.after(before + static_cast<double>(steps) * flow.latency,
                     [this, &flow, bytes = static_cast<double>(steps) * flow.piece * chunk] {
                       network_.transfer(flow.route, bytes, [this] {
                         if (--left_ == 0) std::exchange(done_, {})();  // it may start the next collective
                       });
                     });
    }
  }

  [[nodiscard]] BytesPerSecond rate_alone(const Flow& flow) const {
    auto narrowest = BytesPerSecond(std::numeric_limits<double>::infinity());
    for (int link : flow.route)
      narrowest = std::min(narrowest,
                           capacities_[static_cast<std::size_t>(link)] /
                               static_cast<double>(std::count(flow.route.begin(), flow.route.end(), link)));
    return narrowest;
  }

  FlowNetwork& network_;
  const FlowUnit& unit_;
  std::span<const BytesPerSecond> capacities_;
  std::function<void()> done_;
  std::size_t left_ = 0;
};

}  // namespace

std::unique_ptr<UnitExecutor> make_stepped_executor(FlowNetwork& network, const FlowUnit& unit) {
  return std::make_unique<SteppedExecutor>(network, unit);
}

std::unique_ptr<UnitExecutor> make_fluid_executor(FlowNetwork& network, const FlowUnit& unit,
                                                  std::span<const BytesPerSecond> capacities) {
  return std::make_unique<FluidExecutor>(network, unit, capacities);
}

PlanExecutor::PlanExecutor(const FlowPlan& plan, const MakeUnit& make) {
  for (const auto& stage : plan.stages) {
    auto& units = stages_.emplace_back();
    for (const auto& unit : stage.units) units.push_back(make(unit));
  }
}

void PlanExecutor::start_stages(std::size_t first, std::size_t end, Bytes buffer,
                                std::function<void()> done) {
  buffer_ = buffer;
  done_ = std::move(done);
  stage_ = first;
  end_ = end;
  start_next();
}

void PlanExecutor::start_next() {
  if (stage_ == end_) return std::exchange(done_, {})();  // it may start the next collective
  auto& units = stages_[stage_];
  units_left_ = units.size();
  for (auto& unit : units)
    unit->start(buffer_, [this] {
      if (--units_left_ > 0) return;
      ++stage_;
      start_next();
    });
}

}  // namespace ddpsim
