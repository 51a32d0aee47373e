// `strategy: {program: FILE}`: a step that somebody wrote, or recorded, as text
// (sim/program/written_program.hpp). Every rank carries the same one out.
#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "sim/base/counted.hpp"
#include "sim/program/program_symbols.hpp"
#include "sim/strategies/families.hpp"

namespace ddpsim {
namespace {

// What whole models on ranks that are all alike have none of.
void check_use(const WrittenUse& use) {
  if (is_pair(use.operation))
    throw InputError(use.place, "one sends and one receives, and here all ranks do the same",
                     "messages between stages are a pipeline's (parallelism.pipeline)");
  if (use.activity == Activity::push || use.activity == Activity::pull || use.activity == Activity::serve)
    throw InputError(
        use.place,
        fmt::format("'{}' is of parameter servers, and here are none", activity_name(use.activity)),
        "call it reduce or replicate");
}

struct OwnProgramPlan final : StrategyPlan {
  std::shared_ptr<const LoadedText> text;
  DType computed = DType::bfloat16;
  int ranks = 1;

  Program read(const LayerTrace& trace, int accumulation_steps, const Overheads& overheads) const {
    auto symbols = program_symbols(trace, computed);
    symbols.counts["ranks"] = ranks;
    symbols.counts["micro_batches"] = accumulation_steps;
    set_copies(overheads, symbols);
    auto written = read_program(*text, symbols);
    check(written, accumulation_steps);
    auto& program = written.classes.front().program;
    end_with_all(program);
    program.communicators = std::max<std::size_t>(1, program.communicators);  // as communicators() says
    return std::move(program);
  }
  [[nodiscard]] ReductionPlan reductions(const LayerTrace& trace, int accumulation_steps) const override {
    read(trace, accumulation_steps, {});  // what is wrong with it
    ReductionPlan plan;
    plan.accumulation_steps = accumulation_steps;
    return plan;
  }
  [[nodiscard]] StepProgram program(const LayerTrace& trace, int accumulation_steps,
                                    const Overheads& overheads) const override {
    StepProgram step;
    step.program = read(trace, accumulation_steps, overheads);
    step.before_last_backward = before_last_backward_of(step.program);
    return step;
  }
  [[nodiscard]] HeldStates held(const HeldOf&) const override { return {}; }
  [[nodiscard]] std::vector<Note> notes(const PlanInput& input) const override {
    if (!input.step) return {};
    return {{"program-memory", "a program does not say what a GPU holds: memory is left out"}};
  }
  [[nodiscard]] bool needs_forward_ends() const override { return true; }

 private:
  void check(const WrittenProgram& written, int accumulation_steps) const {
    if (written.classes.size() > 1)
      throw InputError(written.classes[1].places.front(), "here all ranks do the same: one class",
                       "remove the classes' headings and the ops of all but one");
    auto many = written.micro_batches;
    bool counts = many == 1 && written.named.contains("micro_batches");
    if (many != accumulation_steps && !counts)
      throw InputError(whole_file(text->source),
                       fmt::format("the program is of {}, and the job has {}", counted(many, "micro-batch"),
                                   accumulation_steps),
                       "write 'micro_batches N' above the ops, or 'for m = 1..{micro_batches}' around them");
    const auto& [name, program, communicators, places] = written.classes.front();
    Seconds computed_time;
    for (const auto& op : program.ops)
      if (op.kind == Op::Kind::compute) computed_time += op.duration;
    if (computed_time <= Seconds())
      throw InputError(places.front(), "nothing in the program takes time to compute",
                       "write 'forward: compute forward'");
  }
};

class OwnProgram final : public Strategy {
 public:
  // Sharded as far as it casts gradients itself, in its copies.
  OwnProgram()
      : Strategy({.name = "program", .is_sharded = true, .is_of_file = true, .knows_memory = false}) {}
  [[nodiscard]] std::shared_ptr<const StrategyPlan> plan(const PlanInput& input) const override {
    auto plan = std::make_shared<OwnProgramPlan>();
    plan->text = input.choice.file;
    plan->computed = input.choice.computed;
    plan->ranks = input.ranks;
    for (const auto& one : read_communicators(*input.choice.file))
      if (one.ranks.size > input.world_size)
        throw InputError(one.place,
                         fmt::format("{} ranks, and the job has {}", one.ranks.size, input.world_size),
                         "use fewer, or a larger cluster.world_size");
    return plan;
  }
  [[nodiscard]] std::vector<CommunicatorUse> communicators(const StrategyChoice& choice) const override {
    std::vector<CommunicatorUse> all;
    for (const auto& [name, ranks, uses, place] : read_communicators(*choice.file)) {
      bool is_axis = !ranks.axis.empty();
      if (is_axis && ranks.axis != "data")
        throw InputError(place, fmt::format("the job has no axis '{}'", ranks.axis),
                         "axis data is all ranks; sets of them are 'communicator shards: 8 ranks'");
      if (uses.empty())
        throw InputError(place, fmt::format("nothing is done on communicator {}", name), "remove it");
      std::set<Operation> operations;  // all-reduces first
      for (const auto& use : uses) {
        check_use(use);
        operations.insert(use.operation);
      }
      all.push_back({is_axis ? "data" : name,
                     is_axis ? Joined::all : Joined::sets,
                     {operations.begin(), operations.end()},
                     ranks.size,
                     ranks.stride});
    }
    if (all.empty()) all.emplace_back();  // nothing is done on it
    return all;
  }
  void set_passes(const ReductionPlan&, const DdpOptions&, Overheads&) const override {}
};
const OwnProgram kOwnProgram;

}  // namespace

StrategyFamily own_program_family() {
  return {{&kOwnProgram}};
}

}  // namespace ddpsim
