#pragma once
// A communicator's collectives: each starts once every member has launched it and a place is free.
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "sim/replay/class_run.hpp"
#include "sim/replay/executors.hpp"

namespace ddpsim {

class CommunicatorRun {
 public:
  struct Member {
    ClassRun* of;
    std::size_t communicator;  // of its program
  };
  using MakeExecutor = std::function<std::unique_ptr<PlanExecutor>(const FlowPlan&, FlowNetwork&)>;
  // `make`: of plans, where links are shared. `on_change` is called when a collective has ended.
  CommunicatorRun(const ReplayedCommunicator& of, Network& network, Seconds origin, bool is_paced,
                  const MakeExecutor& make, std::function<void()> on_change);
  CommunicatorRun(const CommunicatorRun&) = delete;
  CommunicatorRun& operator=(const CommunicatorRun&) = delete;

  void add(Member member) { members_.push_back(member); }

  // Starts what can start.
  void go_on();
  [[nodiscard]] bool is_busy() const { return busy_ > 0; }
  [[nodiscard]] bool crosses_nodes() const { return of_.crosses_nodes; }
  [[nodiscard]] double interference() const { return of_.interference; }
  [[nodiscard]] bool is_over() const;
  [[nodiscard]] const std::vector<Member>& members() const { return members_; }
  void set_pace(double pace);

  std::vector<Span> take() { return std::move(spans_); }

 private:
  struct Place;
  // What a group of a place's collective puts on the links, once its time before them is over.
  struct Sending {
    std::unique_ptr<PlanExecutor> executor;
    Place* place;
    std::size_t first_stage = 0, end_stage = 0;
  };
  // Of those that may be in flight at once one.
  struct Place {
    std::unique_ptr<PacedNetwork> paced;
    FlowNetwork* network;
    std::vector<Sending> sendings = {};  // by group; none: nobody says over which links it goes
    std::size_t groups_left = 0;         // of the collective
    bool is_busy = false, is_transferring = false;
    std::size_t number = 0;  // of the collective
    Bytes bytes = {};
    Span span = {};  // since its pace last changed
  };
  [[nodiscard]] Seconds now() const { return origin_ + network_.now(); }
  [[nodiscard]] std::size_t launched() const;
  [[nodiscard]] bool is_queued(std::size_t number) const;
  void start(Place& place, std::size_t number);
  void carry_out(Place& place, const Op& op);
  void send(Place& place, const Sending& sending);
  [[nodiscard]] CollectiveDuration slowest_alone(Operation operation, Bytes bytes) const;
  void wait_alone(Place& place, const Op& op);
  void share_links();
  void record(Place& place);
  void end(Place& place);

  const ReplayedCommunicator& of_;
  Network& network_;
  Seconds origin_;
  std::function<void()> on_change_;
  std::vector<Member> members_;
  std::vector<Place> places_;
  double pace_ = 1;
  std::size_t started_ = 0, busy_ = 0;
  std::optional<Seconds> last_end_;
  std::vector<Span> spans_;  // by launch
};

}  // namespace ddpsim
