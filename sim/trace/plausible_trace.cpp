#include "sim/trace/plausible_trace.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include <fmt/core.h>

#include "sim/base/quantity.hpp"
#include "sim/model/transformer.hpp"

namespace ddpsim {
namespace {

// A backward pass takes about twice its forward pass; times in ms beside times in s are a factor of a
// thousand apart.
constexpr double kUsualBackwardPerForward = 2, kOtherUnit = 30;
// Of one backward pass where no forward pass was recorded: a CPU takes some seconds.
constexpr Seconds kLongBackward(60);

void add_missing(const LayerTrace& trace, std::vector<Note>& notes) {
  std::string missing = !trace.forward && !trace.optimizer ? "forward and optimizer times"
                        : !trace.forward                   ? "forward time"
                        : !trace.optimizer                 ? "optimizer time"
                                                           : "";
  if (!missing.empty())
    notes.push_back({"trace-incomplete", fmt::format("the trace has no {}: counted as zero, so that the real "
                                                     "iteration is longer",
                                                     missing)});
}

void add_times(const LayerTrace& trace, std::vector<Note>& notes) {
  auto backward = trace.backward();
  if (trace.forward && *trace.forward > Seconds(0)) {
    double ratio = backward / *trace.forward;
    if (ratio < kUsualBackwardPerForward * kOtherUnit && ratio > kUsualBackwardPerForward / kOtherUnit)
      return;
    notes.push_back(
        {"trace-times", fmt::format("the backward pass takes {}, {:.3g} times the forward pass of {}: is "
                                    "ready_s in seconds?",
                                    format_seconds(backward), ratio, format_seconds(*trace.forward))});
  } else if (backward > kLongBackward) {
    notes.push_back({"trace-times", fmt::format("the backward pass takes {}: is ready_s in seconds?",
                                                format_seconds(backward))});
  }
}

struct KnownModel {
  std::string name;
  std::vector<std::int64_t> elements;  // of its variants
};

std::optional<KnownModel> find_model(const std::string& name) {
  if (const auto* gpt2 = find_transformer(name, gpt2_presets())) {
    auto tied = gpt2->parameters(gpt2->positions);
    return KnownModel{name, {tied, tied + gpt2->vocab * gpt2->hidden}};
  }
  // torchvision.models.resnet50: num_params of its weights' documentation.
  if (name == "resnet50") return KnownModel{name, {25'557'032}};
  return std::nullopt;
}

void add_elements(const LayerTrace& trace, std::vector<Note>& notes) {
  auto model = trace.metadata.model ? find_model(*trace.metadata.model) : std::nullopt;
  if (!model) return;
  double elements = 0;
  for (const auto& gradient : trace.gradients) elements += static_cast<double>(gradient.elements);
  std::vector<double> ratios;
  for (auto known : model->elements) ratios.push_back(elements / static_cast<double>(known));
  // Vocabularies are padded and heads replaced: a few percent say nothing.
  auto is_near = [&](double factor) {
    return std::any_of(ratios.begin(), ratios.end(),
                       [factor](double ratio) { return std::abs(ratio / factor - 1) < 0.05; });
  };
  if (is_near(1)) return;
  auto why = is_near(4) || is_near(2) ? "are the elements bytes?"
             : ratios.front() < 1     ? "is the file cut short, or part of the model frozen?"
                                      : "is it another model?";
  notes.push_back(
      {"trace-elements", fmt::format("the gradients have {:.0f} elements, {:.3g} times those of {}: {}",
                                     elements, ratios.front(), model->name, why)});
}

}  // namespace

std::vector<Note> trace_notes(const LayerTrace& trace) {
  std::vector<Note> notes;
  add_missing(trace, notes);
  add_times(trace, notes);
  add_elements(trace, notes);
  return notes;
}

}  // namespace ddpsim
