#include "sim/replay/replay.hpp"

#include <algorithm>
#include <deque>
#include <set>
#include <utility>

#include <fmt/core.h>

#include "sim/base/check.hpp"
#include "sim/base/doing.hpp"
#include "sim/replay/background_traffic.hpp"
#include "sim/replay/communicator_run.hpp"

namespace ddpsim {
namespace {

// Whether what ranks compute at once, and what they communicate beside it, ever slows one another down.
bool are_paced(std::span<const ReplayedClass> classes, std::span<const ReplayedCommunicator> communicators,
               const Interference& interference) {
  auto has_lanes = [](const ReplayedClass& one) { return lanes_of(*one.program) > 1; };
  if (!interference.is_off() || std::any_of(classes.begin(), classes.end(), has_lanes)) return true;
  return std::any_of(classes.begin(), classes.end(), [&](const ReplayedClass& one) {
    return std::any_of(one.communicators.begin(), one.communicators.end(), [&](std::size_t c) {
      return one.on_links.of(communicators[c].crosses_nodes) != LinkUse();
    });
  });
}

// What follows from a change of some classes: it reaches the communicators that they are in, and the paces of
// those and of all who are in them. Indices, ascending.
struct Reach {
  std::vector<std::size_t> changed, communicators, classes;

  Reach(std::vector<std::size_t> of, std::span<const ReplayedClass> all,
        std::span<const std::vector<std::size_t>> members)
      : changed(std::move(of)) {
    std::set<std::size_t> near, paced;
    for (auto c : changed) near.insert(all[c].communicators.begin(), all[c].communicators.end());
    for (auto k : near) paced.insert(members[k].begin(), members[k].end());
    communicators.assign(near.begin(), near.end());
    classes.assign(paced.begin(), paced.end());
  }
};

class Replay {
 public:
  Replay(std::span<const ReplayedClass> classes, std::span<const ReplayedCommunicator> communicators,
         const Interference& interference, Network& network, const SharedLinks& links)
      : interference_(interference),
        is_paced_(are_paced(classes, communicators, interference)),
        network_(network),
        links_(links),
        users_(links.capacities.size()),
        passed_(classes.size()) {
    for (auto capacity : links.capacities) network.add_link(capacity);
    for (const auto& one : classes) {
      origin_ = std::min(origin_, one.start);
      all_ops_ += one.program->ops.size();
    }
    for (const auto& flow : links.background) origin_ = std::min(origin_, flow.start);
    for (const auto& one : communicators)
      communicators_.emplace_back(
          one, network, origin_, is_paced_,
          [this](const FlowPlan& plan, FlowNetwork& on) { return executors(plan, on); },
          [this, c = communicators_.size()] { settle(of_communicator_[c]); });
    std::vector<std::vector<std::size_t>> members(communicators.size());
    for (const auto& one : classes) {
      auto number = classes_.size();
      auto& run = classes_.emplace_back(one, network, origin_, is_paced_,
                                        [this, number] { settle(of_class_[number]); });
      for (std::size_t c = 0; c < one.communicators.size(); ++c) {
        communicators_[one.communicators[c]].add({&run, c});
        members[one.communicators[c]].push_back(number);
      }
    }
    for (std::size_t c = 0; c < classes.size(); ++c) of_class_.emplace_back(std::vector{c}, classes, members);
    for (const auto& of : members) of_communicator_.emplace_back(of, classes, members);
  }

  ReplayResult run() {
    for (auto& one : classes_) one.start();
    for (std::size_t f = 0; f < links_.background.size(); ++f)
      background_.emplace_back(network_, users_, links_.background[f], links_.routes[f], links_.piece,
                               [this] { return is_over(); });
    for (auto& flow : background_) flow.prepare(origin_);
    network_.run();
    check_over();
    ReplayResult result;
    for (auto& one : classes_) result.classes.push_back(one.take());
    for (auto& one : communicators_) result.communication.push_back(one.take());
    return result;
  }

 private:
  std::unique_ptr<PlanExecutor> executors(const FlowPlan& plan, FlowNetwork& network) {
    return std::make_unique<PlanExecutor>(
        plan, [this, &network](const FlowUnit& unit) { return make_unit(network, unit); });
  }

  std::unique_ptr<UnitExecutor> make_unit(FlowNetwork& network, const FlowUnit& unit) {
    switch (links_.fidelity) {
      case Fidelity::exact:
      case Fidelity::folded:
        return make_stepped_executor(network, unit);
      case Fidelity::lazy:
        return make_lazy_executor(network, users_, unit, links_.capacities);
      case Fidelity::fluid:
        return make_fluid_executor(network, unit, links_.capacities);
      case Fidelity::closed_form:
        break;
    }
    throw InternalError("the closed form is not simulated");
  }

  // After whatever happened: all that follows at once.
  void settle(const Reach& reach) {
    for (auto c : reach.changed) {
      classes_[c].go_on();
      note_passed(c);
    }
    for (auto c : reach.communicators) communicators_[c].go_on();
    if (is_paced_) set_paces(reach);
  }

  void note_passed(std::size_t c) {
    constexpr std::size_t kSaidEach = 256;
    auto before = std::exchange(passed_[c], classes_[c].passed());
    all_passed_ += passed_[c] - before;
    if (++settled_ % kSaidEach == 0)
      doing_.done(static_cast<double>(all_passed_) / static_cast<double>(all_ops_));
  }

  // While both are at work on a rank; a collective is as slow as its slowest rank.
  void set_paces(const Reach& reach) {
    for (auto c : reach.classes) {
      auto& one = classes_[c];
      double share = 0;
      LinkUse within, between;
      for (auto own : one.communicators()) {
        if (!communicators_[own].is_busy()) continue;
        bool crosses_nodes = communicators_[own].crosses_nodes();
        share = std::max(share, communicators_[own].interference());
        (crosses_nodes ? between : within) = one.on_links(crosses_nodes);
      }
      one.set_pace(1 / (1 + share * interference_.compute + within.waited + between.waited));
    }
    for (auto c : reach.communicators) {
      auto& one = communicators_[c];
      double slower = 0;
      for (const auto& member : one.members())
        if (member.of->is_working())
          slower = std::max(slower, one.interference() * interference_.collective +
                                        member.of->on_links(one.crosses_nodes()).busy);
      one.set_pace(1 / (1 + slower));
    }
  }

  [[nodiscard]] bool is_over() const {
    return std::all_of(communicators_.begin(), communicators_.end(),
                       [](const CommunicatorRun& one) { return one.is_over(); });
  }

  // A network that has nothing left to do reports no deadlock, and that must not look like a short step.
  void check_over() const {
    for (std::size_t c = 0; c < classes_.size(); ++c)
      if (auto waiting = classes_[c].waiting())
        throw InternalError("the job hangs: " + chain_of_waits(c, *waiting));
  }

  // From one class to the one that it waits for, until one comes again.
  [[nodiscard]] std::string chain_of_waits(std::size_t c, ClassRun::Waiting waiting) const {
    std::string chain;
    std::set<std::pair<std::size_t, ClassRun::Waiting>> seen;
    while (seen.emplace(c, waiting).second) {
      auto communicator = classes_[c].communicators()[waiting.communicator];
      const auto& op = classes_[c].collective(waiting.communicator, waiting.number);
      chain += fmt::format("{}class {} waits in {} {} of communicator {}", chain.empty() ? "" : ", ", c,
                           activity_name(op.activity), op.index, communicator);
      auto behind = behind_in(communicator, waiting.number);
      if (!behind) break;
      auto [other, own] = *behind;
      chain += fmt::format(" for class {}", other);
      if (waiting.number >= classes_[other].collectives(own)) return chain + ", which has no such";
      waiting = classes_[other].waiting_at({own, waiting.number});
      c = other;
    }
    return chain;
  }

  // A class that has not launched that collective, and which of its program's communicators that is.
  [[nodiscard]] std::optional<std::pair<std::size_t, std::size_t>> behind_in(std::size_t communicator,
                                                                             std::size_t number) const {
    for (const auto& [member, own] : communicators_[communicator].members())
      if (member->launched(own).size() <= number) {
        auto c = std::find_if(classes_.begin(), classes_.end(),
                              [of = member](const auto& one) { return &one == of; });
        return std::pair(static_cast<std::size_t>(c - classes_.begin()), own);
      }
    return std::nullopt;
  }

  const Interference& interference_;
  bool is_paced_;
  Network& network_;
  const SharedLinks& links_;
  LinkUsers users_;
  Doing doing_{"simulating"};
  std::size_t all_ops_ = 0, all_passed_ = 0, settled_ = 0;
  std::vector<std::size_t> passed_;  // ops, by class
  std::vector<Reach> of_class_, of_communicator_;
  Seconds origin_;
  std::deque<CommunicatorRun> communicators_;  // they hold on to one another's addresses
  std::deque<ClassRun> classes_;
  std::deque<BackgroundTraffic> background_;
};

}  // namespace

ReplayResult replay(std::span<const ReplayedClass> classes,
                    std::span<const ReplayedCommunicator> communicators, const Interference& interference,
                    Network& network, const SharedLinks& links) {
  return Replay(classes, communicators, interference, network, links).run();
}

}  // namespace ddpsim
