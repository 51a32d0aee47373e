#include "sim/trace/import/pytorch_profiler/steps.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include <fmt/core.h>

#include "sim/base/source.hpp"

namespace ddpsim::pytorch_profiler {
namespace {

struct Window : Span {
  std::string name;
};

// One backward() call: the evaluation of nodes, none of them twice, with no forward pass between them.
struct Pass {
  std::size_t first_node = 0, end_node = 0;
  Span span;
};

// Records in the order of their start that start in the window.
template <class Record>
std::span<const Record> started_in(const std::vector<Record>& records, Span window) {
  auto before = [](const Record& record, Time moment) { return record.start < moment; };
  auto first = std::lower_bound(records.begin(), records.end(), window.start, before);
  auto last = std::lower_bound(first, records.end(), window.end, before);
  return {records.data() + (first - records.begin()), static_cast<std::size_t>(last - first)};
}

std::span<const Accumulation> ended_in(const std::vector<Accumulation>& records, Span pass) {
  auto first = std::lower_bound(records.begin(), records.end(), pass.start,
                                [](const auto& record, Time moment) { return record.end < moment; });
  auto last = std::upper_bound(first, records.end(), pass.end,
                               [](Time moment, const auto& record) { return moment < record.end; });
  return {records.data() + (first - records.begin()), static_cast<std::size_t>(last - first)};
}

// The operators that a forward pass consists of: outside of nodes, on the thread that has most of them (a
// thread that loads data has some, too).
std::vector<Time> forward_operators(const Profile& profile) {
  std::map<std::uint32_t, std::vector<Time>> by_thread;
  std::map<std::uint32_t, Time> evaluated_until;
  auto node = profile.nodes.begin();
  for (const auto& op : profile.forward_operators) {
    for (; node != profile.nodes.end() && node->start <= op.start; ++node) {
      auto& until = evaluated_until.try_emplace(node->thread, node->end).first->second;
      until = std::max(until, node->end);
    }
    auto until = evaluated_until.find(op.thread);
    if (until == evaluated_until.end() || until->second <= op.start) by_thread[op.thread].push_back(op.start);
  }
  auto most = std::max_element(by_thread.begin(), by_thread.end(), [](const auto& a, const auto& b) {
    return a.second.size() < b.second.size();
  });
  return most == by_thread.end() ? std::vector<Time>{} : std::move(most->second);
}

// When forward passes certainly ran.
std::vector<Time> forward_marks(const Profile& profile) {
  if (profile.forwards.empty()) return forward_operators(profile);
  std::vector<Time> marks;
  for (const auto& forward : united({profile.forwards.begin(), profile.forwards.end()}))
    marks.push_back(forward.start);
  return marks;
}

// The first mark in [from, to).
std::optional<Time> first_mark(const std::vector<Time>& marks, Time from, Time to) {
  auto mark = std::lower_bound(marks.begin(), marks.end(), from);
  return mark != marks.end() && *mark < to ? std::optional(*mark) : std::nullopt;
}

// The last mark in [from, to), and how many there are.
std::pair<std::optional<Time>, int> last_mark(const std::vector<Time>& marks, Time from, Time to) {
  auto first = std::lower_bound(marks.begin(), marks.end(), from);
  auto after = std::lower_bound(first, marks.end(), to);
  if (first == after) return {std::nullopt, 0};
  return {*std::prev(after), static_cast<int>(after - first)};
}

// Those of the window that complete gradients.
std::vector<Pass> backward_passes(const Profile& profile, const std::vector<Time>& marks, Span window) {
  auto nodes = started_in(profile.nodes, window);
  std::vector<Pass> passes;
  std::set<std::pair<std::int64_t, std::int64_t>> evaluated;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    std::pair identity{nodes[i].forward_thread, nodes[i].sequence};
    bool again = nodes[i].sequence != kNoSequence && evaluated.contains(identity);
    if (i == 0 || again || first_mark(marks, nodes[i - 1].start, nodes[i].start)) {
      passes.push_back({i, i, {nodes[i].start, nodes[i].end}});
      evaluated.clear();
    }
    evaluated.insert(identity);
    passes.back().end_node = i + 1;
    passes.back().span.end = std::max(passes.back().span.end, nodes[i].end);
  }
  std::erase_if(passes, [&](const Pass& pass) { return ended_in(profile.accumulations, pass.span).empty(); });
  return passes;
}

// Optimizer.step's spans: of nested ones (ZeroRedundancyOptimizer) the outer. Those that gradients' hooks run
// are left out: they belong to the backward pass.
std::vector<Span> optimizer_steps(const Profile& profile, bool& some_in_backward) {
  std::vector<Span> outside;
  auto node = profile.nodes.begin();
  auto evaluated_until = Time::min();
  for (const auto& optimizer : profile.optimizer_steps) {
    for (; node != profile.nodes.end() && node->start <= optimizer.start; ++node)
      evaluated_until = std::max(evaluated_until, node->end);
    if (optimizer.start < evaluated_until)
      some_in_backward = true;
    else
      outside.push_back(optimizer);
  }
  return united(std::move(outside));
}

// What of the optimizers' spans is no backward pass. A closure (LBFGS, Lightning) runs it inside them.
std::vector<Span> without_backward(std::span<const Span> optimizers, const std::vector<Pass>& passes,
                                   bool& some_in_backward) {
  std::vector<Span> rest;
  for (auto optimizer : optimizers) {
    auto after = std::lower_bound(passes.begin(), passes.end(), optimizer.end,
                                  [](const Pass& pass, Time moment) { return pass.span.start < moment; });
    if (after != passes.begin()) {
      auto pass = std::prev(after)->span;  // the last one that it may hold, or lie in
      if (pass.start <= optimizer.start && optimizer.end <= pass.end) {
        some_in_backward = true;
        continue;
      }
      if (pass.end <= optimizer.end) optimizer.start = std::max(optimizer.start, pass.end);
    }
    rest.push_back(optimizer);
  }
  return rest;
}

std::vector<Window> find_windows(const Profile& profile, const std::vector<Span>& optimizers) {
  std::vector<Window> windows;
  for (const auto& step : profile.steps) windows.push_back({{step.start, step.end}, step.name});
  if (!windows.empty()) return windows;
  auto start = Time::min();
  for (const auto& optimizer : optimizers) {
    windows.push_back({{start, optimizer.end}, fmt::format("step {}", windows.size() + 1)});
    start = optimizer.end;
  }
  windows.push_back({{start, Time::max()}, fmt::format("step {}", windows.size() + 1)});
  return windows;
}

Step make_step(const Profile& profile, const std::vector<Time>& marks, const Window& window,
               const std::vector<Pass>& passes, const std::vector<Span>& optimizers, bool& some_in_backward) {
  const auto& pass = passes.back();
  auto after = passes.size() > 1 ? passes[passes.size() - 2].span.end : window.start;
  Step step;
  step.name = window.name;
  step.end = window.end;
  if (window.start != Time::min() && window.end != Time::max()) step.recorded = window;
  step.forward_start = first_mark(marks, after, pass.span.start);
  if (!profile.forwards.empty())
    std::tie(step.forward_start, step.forwards) = last_mark(marks, after, pass.span.start);
  step.backward = pass.span;
  step.nodes = started_in(profile.nodes, window).subspan(pass.first_node, pass.end_node - pass.first_node);
  auto ended = ended_in(profile.accumulations, pass.span);
  step.accumulations.assign(ended.begin(), ended.end());
  step.callbacks_end = window.end;
  auto of_step = started_in(optimizers, window);
  for (const auto& optimizer : of_step)
    if (optimizer.start >= pass.span.end) step.callbacks_end = std::min(step.callbacks_end, optimizer.start);
  step.optimizer = without_backward(of_step, passes, some_in_backward);
  step.backward_passes = static_cast<int>(passes.size());
  return step;
}

[[noreturn]] void fail_without_backward(const Profile& profile) {
  if (profile.nodes.empty() && profile.accumulations.empty())
    throw InputError("has no backward pass: no 'autograd::engine::evaluate_function' on the CPU",
                     "profile backward() with ProfilerActivity.CPU and ProfilerActivity.CUDA");
  throw InputError("has no backward pass that completes gradients: no 'torch::autograd::AccumulateGrad'",
                   "profile whole training steps");
}

}  // namespace

std::vector<Step> find_steps(const Profile& profile, std::vector<std::string>& remarks) {
  auto marks = forward_marks(profile);
  bool optimizer_in_backward = false;
  auto optimizers = optimizer_steps(profile, optimizer_in_backward);
  auto windows = find_windows(profile, optimizers);
  std::vector<Step> steps;
  std::vector<std::string> left_out;
  for (const auto& window : windows) {
    auto passes = backward_passes(profile, marks, window);
    if (passes.empty()) {
      left_out.push_back(window.name);
      continue;
    }
    if (windows.size() == 1 && profile.steps.empty() && passes.size() > 1)
      throw InputError(
          fmt::format("has {} backward passes and nothing that says where steps end", passes.size()),
          "call prof.step() after each training step");
    steps.push_back(make_step(profile, marks, window, passes, optimizers, optimizer_in_backward));
  }
  if (steps.empty()) fail_without_backward(profile);
  if (!profile.steps.empty())
    for (const auto& name : left_out)
      remarks.push_back(fmt::format("{} was left out: no backward pass in it", name));
  auto several = std::find_if(steps.begin(), steps.end(), [](const Step& step) { return step.forwards > 1; });
  if (several != steps.end())
    remarks.push_back(fmt::format(
        "{} calls DistributedDataParallel.forward {} times before its backward pass: only the last call "
        "counts as forward, which is too little unless the others are a validation pass "
        "(contrastive training, a GAN?)",
        several->name, several->forwards));
  if (optimizer_in_backward)
    remarks.emplace_back(
        "an optimizer runs in gradients' hooks, inside the backward pass: "
        "that part of it counts as backward");
  auto accumulating =
      std::find_if(steps.begin(), steps.end(), [](const Step& step) { return step.backward_passes > 1; });
  if (accumulating != steps.end())
    remarks.push_back(fmt::format("{} has {} backward passes (gradient accumulation?); the last one counts",
                                  accumulating->name, accumulating->backward_passes));
  return steps;
}

}  // namespace ddpsim::pytorch_profiler
