#include "sim/strategies/single_process.hpp"

#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/source.hpp"
#include "sim/cost/direct_sends.hpp"
#include "sim/job/types.hpp"
#include "sim/keys/types.hpp"
#include "sim/program/step_builder.hpp"
#include "sim/strategies/families.hpp"

namespace ddpsim {
namespace {

using namespace keys;

constexpr Bytes kPiece(10485760);  // comm.py: buffer_size

using Pieces = std::vector<std::vector<std::size_t>>;

Bytes bytes_of(const LayerTrace& trace, const std::vector<std::size_t>& piece) {
  Bytes bytes;
  for (auto gradient : piece) bytes += trace.gradients[gradient].bytes();
  return bytes;
}

// In the order of registration, each dtype by itself; what is left at the end comes last.
template <class IsFull>
Pieces pieces_of(const LayerTrace& trace, const IsFull& closes_before, bool closes_when_reached) {
  Pieces pieces;
  std::map<DType, std::vector<std::size_t>> open;
  auto close = [&](std::vector<std::size_t>& piece) { pieces.push_back(std::exchange(piece, {})); };
  for (auto gradient : trace.registration_order) {
    auto& piece = open[trace.gradients[gradient].dtype];
    if (!piece.empty() && closes_before(bytes_of(trace, piece), trace.gradients[gradient].bytes()))
      close(piece);
    piece.push_back(gradient);
    if (closes_when_reached && bytes_of(trace, piece) >= kPiece) close(piece);
  }
  for (auto& [dtype, piece] : open)
    if (!piece.empty()) close(piece);
  return pieces;
}

class SingleProcessBuilder {
 public:
  SingleProcessBuilder(const LayerTrace& trace, const SingleProcessPlan& plan, const Overheads& overheads)
      : trace_(trace), plan_(plan), step_(overheads) {}

  StepProgram take(int accumulation_steps) {
    for (int i = 0; i < accumulation_steps; ++i) {
      index_ = static_cast<std::size_t>(i);
      forward();
      if (i + 1 == accumulation_steps) step_.start_last_backward();
      backward(i + 1 == accumulation_steps);
    }
    only_first(step_.compute(Activity::optimizer, 0, trace_.optimizer.value_or(Seconds())));
    auto program = step_.take();
    program.others = program.program;
    for (auto op : of_first_) program.others->ops[op].duration = Seconds();
    return program;
  }

 private:
  void only_first(std::size_t op) { of_first_.push_back(op); }

  void forward() {
    if (plan_.scatter > Seconds()) step_.fixed(Activity::host_copy, index_, plan_.scatter);
    for (auto bytes : trace_.buffers) replicate(trace_.gradients.size(), bytes);
    for (std::size_t i = 0; i < plan_.broadcasts.size(); ++i) {
      auto bytes = bytes_of(trace_, plan_.broadcasts[i]);
      step_.pass(Activity::copy_in, i, step_.passes().in, 2 * bytes);
      replicate(i, bytes);
    }
    auto duration = trace_.forward.value_or(Seconds());
    step_.compute(Activity::forward, index_, duration);
    if (auto host = plan_.replicas * plan_.options.host_forward; host > duration)
      step_.compute(Activity::launch, index_, host - duration);
    if (plan_.gather > Seconds()) only_first(step_.fixed(Activity::peer_copy, index_, plan_.gather));
    if (auto others = (plan_.replicas - 1) * plan_.options.loss; others > Seconds())
      only_first(step_.compute(Activity::forward, index_, others));
  }

  void replicate(std::size_t index, Bytes bytes) {
    step_.wait(step_.collective(Activity::replicate, Operation::broadcast, index, bytes));
  }

  void backward(bool is_last) {
    if (plan_.gather > Seconds()) only_first(step_.fixed(Activity::peer_copy, index_, plan_.gather));
    step_.compute(Activity::backward, index_, trace_.backward());
    std::vector<std::size_t> reductions;
    for (std::size_t i = 0; i < plan_.reduced.size(); ++i) {
      if (is_last) step_.set_ready(i);
      auto bytes = bytes_of(trace_, plan_.reduced[i]);
      step_.pass(Activity::copy_in, i, step_.passes().in, 2 * bytes);
      reductions.push_back(step_.collective(Activity::reduce, Operation::reduce, i, bytes));
    }
    for (auto op : reductions) step_.wait(op);
  }

  const LayerTrace& trace_;
  const SingleProcessPlan& plan_;
  StepBuilder step_;
  std::vector<std::size_t> of_first_;  // ops that GPU 0 alone carries out
  std::size_t index_ = 0;
};

// Of a replica's micro-batch, as a job says it.
struct DataParallelSaid {
  std::optional<Bytes> inputs, outputs;
  std::optional<Seconds> loss, host_forward;
  bool operator==(const DataParallelSaid&) const = default;
  [[nodiscard]] std::vector<std::string_view> lacking() const {
    std::vector<std::string_view> keys;
    if (!inputs) keys.push_back("inputs");
    if (!outputs) keys.push_back("outputs");
    if (!loss) keys.push_back("loss");
    if (!host_forward) keys.push_back("host_forward");
    return keys;
  }
};

Type<DataParallelSaid> data_parallel_rows() {
  using D = DataParallelSaid;
  return nested(
      Rows<D>("data_parallel")
          .key<&D::inputs>("inputs", maybe(size()), "Bytes of a replica's inputs")
          .usually("of a model 8 bytes a token")
          .key<&D::outputs>("outputs", maybe(size()), "Bytes of its outputs")
          .usually("of a model its logits")
          .key<&D::loss>("loss", maybe(time()), "Time of the loss")
          .usually("of a model by its software")
          .key<&D::host_forward>("host_forward", maybe(time()), "Time of the host before each forward pass")
          .usually("of a model its launches"));
}

// What a model's replica takes, where the section does not say it: tokens of 8 bytes, and logits, whose loss
// is outside the module. Of a trace nobody knows.
SingleProcessOptions options_of(const DataParallelSaid& said, const ModelStep* known) {
  SingleProcessOptions options;
  if (known) {
    const auto& shape = known->step.shape;
    const auto& software = known->software;
    auto tokens = static_cast<double>(shape.tokens());
    double logits = tokens * static_cast<double>(known->model.vocab);
    options.inputs = Bytes(8 * tokens);
    options.outputs = Bytes(activation_bytes(known->step.precision) * logits);
    if (said.outputs.value_or(options.outputs) > Bytes())
      options.loss = Bytes(software.loss_bytes * logits) / (known->gpu.memory_bandwidth * software.memory);
    TransformerTimes times(known->model, known->gpu, software, known->step.precision, shape);
    options.host_forward = static_cast<double>(known->model.layers) * times.block().forward.host;
  }
  options.inputs = said.inputs.value_or(options.inputs);
  options.outputs = said.outputs.value_or(options.outputs);
  options.loss = said.loss.value_or(options.loss);
  options.host_forward = said.host_forward.value_or(options.host_forward);
  return options;
}

class SingleProcessStrategy final : public Strategy {
 public:
  SingleProcessStrategy() : Strategy({.name = "data_parallel", .is_one_process = true}) {}
  [[nodiscard]] std::shared_ptr<const StrategyPlan> plan(const PlanInput& input) const override {
    auto options = options_of(input.choice.sections.of<DataParallelSaid>(), input.step);
    auto plan = std::make_shared<SingleProcessPlan>(input.trace, options, input.ranks);
    plan->scatter = options.inputs / input.host.copy_bandwidth;
    const auto* communication = input.communication;
    if (!communication) return plan;
    check(*communication);
    const auto& gpus = communication->groups.front();
    if (options.outputs > Bytes() && gpus.size() > 1)
      plan->gather = DirectSends(*communication->cluster, std::span(gpus).subspan(1),
                                 std::span(gpus).first(1), DirectSends::Ways::to)
                         .time(options.outputs);
    return plan;
  }
  void set_passes(const ReductionPlan&, const DdpOptions&, Overheads& overheads) const override {
    overheads.passes = overheads.passes_of_one = {1, 0};
  }

 private:
  static void check(const Communication& communication) {
    if (communication.groups.size() > 1 ||
        ranks_by_node(*communication.cluster, communication.groups.front()).size() > 1)
      throw InputError("one process drives the GPUs of one machine",
                       "use a world_size within a node, or strategy: ddp")
          .about("strategy");
    if (!communication.background.empty())
      throw InputError("background traffic beside DataParallel's broadcasts is not simulated",
                       "remove it, or use strategy: ddp")
          .about("cluster.background");
    if (communication.library)
      throw InputError(fmt::format("one process does not communicate with {}",
                                   backend_words(communication.library->backend())),
                       "use backend: nccl")
          .about("strategy");
  }
};
const SingleProcessStrategy kSingleProcess;
const When kDataParallel{[](const Job& job) { return job.strategy == &kSingleProcess; },
                         "strategy data_parallel"};

}  // namespace

StrategyFamily single_process_family() {
  return {{&kSingleProcess}, [](Rows<Job>& to) {
            to.at<DataParallelSaid>(
                  "data_parallel", data_parallel_rows(),
                  [](Job& job) -> DataParallelSaid& { return job.sections.of<DataParallelSaid>(); },
                  "torch.nn.DataParallel")
                .when(kDataParallel);
          }};
}

SingleProcessPlan::SingleProcessPlan(const LayerTrace& trace, const SingleProcessOptions& of_one,
                                     int how_many)
    : options(of_one), replicas(how_many) {
  broadcasts = pieces_of(
      trace, [](Bytes, Bytes) { return false; }, true);
  reduced = pieces_of(
      trace, [](Bytes open, Bytes next) { return open + next > kPiece; }, false);
}

ReductionPlan SingleProcessPlan::reductions(const LayerTrace& trace, int accumulation_steps) const {
  ReductionPlan result;
  result.launch = LaunchRule::after_backward;
  result.accumulation_steps = accumulation_steps;
  auto order = std::make_shared<std::vector<std::size_t>>();
  for (const auto& piece : reduced) order->insert(order->end(), piece.begin(), piece.end());
  std::size_t at = 0;
  for (const auto& piece : reduced) {
    std::span<const std::size_t> gradients(order->data() + at, piece.size());
    at += piece.size();
    result.buckets.push_back({gradients, bytes_of(trace, piece), trace.gradients[piece.front()].dtype});
  }
  result.order = std::move(order);
  return result;
}

StepProgram SingleProcessPlan::program(const LayerTrace& trace, int accumulation_steps,
                                       const Overheads& overheads) const {
  return SingleProcessBuilder(trace, *this, overheads).take(accumulation_steps);
}

// GPU 0 holds what was reduced beside its own gradients, the others' outputs, and their losses' logits.
HeldStates SingleProcessPlan::held(const HeldOf& of) const {
  const auto& step = of.step;
  auto others = static_cast<double>(replicas - 1);
  HeldStates held{.buckets = of.trace.bytes()};
  held.buckets += (1.0 + others) * options.outputs;
  if (options.loss > Seconds())
    held.buckets += Bytes(others * step.software.memory_use.logit_bytes *
                          static_cast<double>(step.step.shape.tokens() * step.model.vocab));
  return held;
}

std::vector<Note> SingleProcessPlan::notes(const PlanInput& input) const {
  auto unknown = input.choice.sections.of<DataParallelSaid>().lacking();
  if (input.step || unknown.empty()) return {};
  return {
      {"data-parallel-unknown",
       fmt::format("a trace does not say what DataParallel scatters, gathers, computes on GPU 0 and launches "
                   "for each replica: they count as nothing (data_parallel: {})",
                   fmt::join(unknown, ", "))}};
}

}  // namespace ddpsim
