#include "sim/trace/step_comparison.hpp"

#include <algorithm>
#include <array>
#include <map>

namespace ddpsim {
namespace {

constexpr std::array<std::pair<OperatorClass, std::string_view>, 5> kClasses{
    {{OperatorClass::product, "products"},
     {OperatorClass::attention, "attention"},
     {OperatorClass::convolution, "convolutions"},
     {OperatorClass::elementwise, "element-wise"},
     {OperatorClass::copy, "copies"}}};

// By the name alone, which is all that a profile has.
OperatorClass class_of_name(const std::string& name) {
  RecordedOperator op;
  op.name = name;
  op.written = 1;
  op.flops = name.find("attention") == std::string::npos ? 0 : 1;
  return class_of(op);
}

std::int64_t bytes_of_type(std::string_view dtype) {
  if (dtype == "complex128") return 16;
  if (dtype.ends_with("64")) return 8;  // complex64 is two float32
  if (dtype.ends_with("32")) return 4;
  if (dtype.ends_with("16")) return 2;
  return 1;
}

std::vector<ProfiledCollective> collectives_of(const Recording& recording, bool knows_groups) {
  std::vector<ProfiledCollective> all;
  for (const auto& item : recording.items) {
    const auto* one = std::get_if<LaunchedCollective>(&item);
    if (!one) continue;
    ProfiledCollective what;
    what.operation = !one->operation                          ? "barrier"
                     : one->operation == Operation::send_recv ? (one->is_send ? "send" : "recv")
                                                              : std::string(operation_name(*one->operation));
    what.elements = static_cast<std::int64_t>(one->bytes.value()) / bytes_of_type(one->dtype);
    if (knows_groups) what.ranks = recording.groups[one->group].count;
    all.push_back(std::move(what));
  }
  return all;
}

class Comparing {
 public:
  Comparing(const RecordedStep& recorded, const ProfiledStep& profiled)
      : recorded_(recorded), profiled_(profiled) {
    result_.has_kernels = profiled.has_kernels;
    result_.knows_groups =
        std::ranges::all_of(profiled.collectives, [](const auto& one) { return one.ranks.has_value(); });
  }

  StepComparison compare() {
    compare_collectives();
    count_recorded();
    count_profiled();
    list();
    return std::move(result_);
  }

 private:
  void compare_collectives() {
    auto mine = collectives_of(*recorded_.recording, result_.knows_groups);
    auto theirs = profiled_.collectives;
    if (!result_.knows_groups)
      for (auto& one : theirs) one.ranks.reset();
    for (const auto& one : mine) ++row_of(one).recorded;
    for (const auto& one : theirs) ++row_of(one).profiled;
    auto [a, b] = std::ranges::mismatch(mine, theirs);
    result_.in_order = static_cast<std::size_t>(a - mine.begin());
    if (a != mine.end()) result_.recorded_next = *a;
    if (b != theirs.end()) result_.profiled_next = *b;
  }
  StepCount& row_of(const ProfiledCollective& one) {
    auto known = std::ranges::find(result_.collectives, one, &StepComparison::Collective::what);
    if (known == result_.collectives.end())
      known = result_.collectives.insert(known, StepComparison::Collective{one, {}});
    return known->count;
  }

  void count_recorded() {
    const auto& items = recorded_.recording->items;
    for (std::size_t i = 0; i < items.size(); ++i) {
      const auto* op = std::get_if<RecordedOperator>(&items[i]);
      if (!op || class_of(*op) == OperatorClass::none) continue;
      auto& count = operators_[op->name];
      ++count.recorded;
      count.recorded_time += recorded_.times[i];
    }
  }

  void count_profiled() {
    std::vector<std::string> owner;  // by operator: the outermost recorded one that it is part of, or empty
    for (const auto& op : profiled_.operators) {
      auto& own = owner.emplace_back(op.within ? owner[*op.within] : std::string());
      bool is_part = !own.empty();
      auto known = operators_.find(op.name);
      bool is_recorded = known != operators_.end() && known->second.recorded > 0;
      if (!is_part && is_recorded) own = op.name;
      if (!own.empty()) {
        auto& count = operators_[own];
        if (!is_part) ++count.profiled;
        count.profiled_time += op.on_gpu;
      } else if (profiled_.has_kernels ? op.on_gpu > Seconds() : is_heavy(op.name)) {
        auto& count = operators_[op.name];
        ++count.profiled;
        count.profiled_time += op.on_gpu;
      }
    }
  }
  static bool is_heavy(const std::string& name) {
    auto of = class_of_name(name);
    return of == OperatorClass::product || of == OperatorClass::attention || of == OperatorClass::convolution;
  }

  void list() {
    std::map<OperatorClass, StepCount> classes;
    for (const auto& [name, count] : operators_) {
      auto& all = classes[class_of_name(name)];
      all.recorded += count.recorded;
      all.profiled += count.profiled;
      all.recorded_time += count.recorded_time;
      all.profiled_time += count.profiled_time;
      if (count.profiled == 0) result_.only_recorded.push_back({name, count});
      if (count.recorded == 0) result_.only_profiled.push_back({name, count});
    }
    for (auto [of, name] : kClasses)
      if (classes.contains(of)) result_.classes.push_back({std::string(name), classes[of]});
  }

  const RecordedStep& recorded_;
  const ProfiledStep& profiled_;
  StepComparison result_;
  std::map<std::string, StepCount> operators_;
};

}  // namespace

StepComparison compare_steps(const RecordedStep& recorded, const ProfiledStep& profiled) {
  return Comparing(recorded, profiled).compare();
}

}  // namespace ddpsim
