#include "sim/engine/written_programs.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "sim/engine/simulator.hpp"

namespace ddpsim {
namespace {

// As they are in the places of the program's communicators, which may have one name.
class Communicators {
 public:
  void add(const CommunicatorAxis& axis, std::size_t ranks) {
    WrittenCommunicator one{axis.name, {axis.name}};
    if (axis.stride > 0) one.ranks = {"", static_cast<int>(ranks), axis.stride};
    auto copies = std::ranges::count(
        all_, axis.name, [](const auto& known) { return known.name.substr(0, known.name.find('\'')); });
    if (copies > 0) one.name += fmt::format("'{}", copies + 1);
    all_.push_back(std::move(one));
  }
  std::vector<WrittenCommunicator> take() { return std::move(all_); }

 private:
  std::vector<WrittenCommunicator> all_;
};

// Of a class of ranks.
std::vector<WrittenCommunicator> communicators_of(const Scenario& scenario, const Program& program,
                                                  std::span<const std::size_t> groups) {
  Communicators all;
  const auto* known = scenario.communication.get();
  for (std::size_t i = 0; i < program.communicators; ++i) {
    if (i < groups.size())
      all.add(known->axis_of(groups[i]), known->groups[groups[i]].size());
    else if (known && groups.empty() && i < known->axes.size())
      all.add(known->axes[i], known->groups[known->axes[i].first].size());
    else
      all.add({}, 0);
  }
  return all.take();
}

}  // namespace

WrittenProgram written_program(const Scenario& scenario) {
  auto steps = programs_of(scenario);
  WrittenProgram written{
      .micro_batches = scenario.plan.accumulation_steps, .communicators = {}, .classes = {}};
  const auto& classes = scenario.groups.front().rank_classes;
  for (std::size_t s = 0; s < steps.size(); ++s) {
    auto ranks = std::ranges::find(classes, s, &RankClass::program);
    auto groups = ranks == classes.end() ? std::vector<std::size_t>() : ranks->communicators;
    auto name = steps.size() > 1 ? fmt::format("stage.{}", s) : steps[s].others ? "first" : "";
    auto communicators = communicators_of(scenario, steps[s].program, groups);
    written.classes.push_back({name, std::move(steps[s].program), communicators});
    if (steps[s].others) written.classes.push_back({"others", *std::move(steps[s].others), communicators});
  }
  auto has_same = [&](const WrittenClass& one) {
    return one.communicators == written.classes.front().communicators;
  };
  if (std::ranges::all_of(written.classes, has_same)) {
    written.communicators = written.classes.front().communicators;
    for (auto& one : written.classes) one.communicators.clear();
  }
  return written;
}

}  // namespace ddpsim
