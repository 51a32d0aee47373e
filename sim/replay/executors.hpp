#pragma once
// Ways to carry out a plan on the network, from every flow to a timer while nobody else is there.
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "sim/collective/flow_network.hpp"
#include "sim/collective/flow_plan.hpp"

namespace ddpsim {

// Carries out one unit of a stage.
class UnitExecutor {
 public:
  virtual ~UnitExecutor() = default;
  // Starts now; calls `done` when the unit's last flow has ended. One at a time.
  virtual void start(Bytes buffer, std::function<void()> done) = 0;
};

// Flow by flow and step by step: exact on an unfolded plan, "folded" on a folded one.
std::unique_ptr<UnitExecutor> make_stepped_executor(FlowNetwork& network, const FlowUnit& unit);
// One flow for all steps, all latency first. Exact only while no link is contended.
std::unique_ptr<UnitExecutor> make_fluid_executor(FlowNetwork& network, const FlowUnit& unit,
                                                  std::span<const BytesPerSecond> capacities);

// Somebody on the network who must know when another one comes to the links it uses.
class LinkUser {
 public:
  virtual ~LinkUser() = default;
  [[nodiscard]] virtual const std::vector<int>& links() const = 0;
  // Another user has come to one of the links.
  virtual void contend() = 0;
};

// Who uses which link now.
class LinkUsers {
 public:
  explicit LinkUsers(std::size_t links) : users_(links) {}
  void enter(LinkUser& user);  // tells those who are there already
  void leave(LinkUser& user);
  [[nodiscard]] bool is_alone(const LinkUser& user) const;

 private:
  std::vector<std::vector<LinkUser*>> users_;  // by link
  std::vector<LinkUser*> met_;                 // room for those whom a user meets
};

// A single timer while nobody else uses the unit's links; flow by flow, from where it then is, while somebody
// does. A unit of one ring goes back to the timer at the next step.
std::unique_ptr<UnitExecutor> make_lazy_executor(FlowNetwork& network, LinkUsers& users, const FlowUnit& unit,
                                                 std::span<const BytesPerSecond> capacities);

// The stages of a plan one after the other, their units at once.
class PlanExecutor {
 public:
  using MakeUnit = std::function<std::unique_ptr<UnitExecutor>(const FlowUnit&)>;
  PlanExecutor(const FlowPlan& plan, const MakeUnit& make);
  // Starts the stages [first, end) now; calls `done` when the last of them has ended. One call at a time.
  void start_stages(std::size_t first, std::size_t end, Bytes buffer, std::function<void()> done);

 private:
  void start_next();

  std::vector<std::vector<std::unique_ptr<UnitExecutor>>> stages_;
  Bytes buffer_;
  std::function<void()> done_;
  std::size_t stage_ = 0, end_ = 0, units_left_ = 0;
};

}  // namespace ddpsim
