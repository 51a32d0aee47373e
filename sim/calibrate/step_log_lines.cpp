#include "sim/calibrate/step_log_lines.hpp"

#include <fmt/format.h>

namespace ddpsim::calibrate {
namespace {

using Log = std::shared_ptr<const SourceFile>;
using Number = std::optional<LoggedNumber>;

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

LoggedRun read_megatron_log(const Log& log, const StepSize& /*job*/) {
  LoggedRun run;
  IterationTimes times(run);
  for (std::size_t i = 0; i < log->lines.size(); ++i) {
    const auto& text = log->lines[i];
    if (has(text, "using world size:")) {
      keep_same(run.facts.world_size, number_after(log, i, "using world size:"));
      keep_same(run.facts.tensor, number_after(log, i, "tensor-model-parallel size:"));
      keep_same(run.facts.pipeline, number_after(log, i, "pipeline-model-parallel size:"));
    }
    if (auto dots = text.find(" seq_length ..."); dots != std::string::npos)
      if (auto end = text.find_first_not_of('.', dots + 12); end != std::string::npos)
        keep_same(run.facts.sequence, number_after(log, i, " ", end));
    auto time = figure_after(log, i, "elapsed time per iteration (ms):");
    auto iteration = number_after(log, i, "iteration ");
    if (!time || !iteration) continue;
    auto batch = number_after(log, i, "global batch size:");
    auto skipped = number_after(log, i, "number of skipped iterations:");
    times.add({iteration_of(*iteration), seconds_of(*time, 1e-3), time->place, batch,
               !(skipped && skipped->value > 0)});
    if (batch) run.facts.batch = batch;
  }
  return run;
}

LoggedRun read_deepspeed_log(const Log& log, const StepSize& job) {
  LoggedRun run, by_rate, by_parts;
  IterationTimes times(run), rates(by_rate), parts(by_parts);
  Number& batch = run.facts.batch;
  bool assumes_batch = false;
  for (std::size_t i = 0; i < log->lines.size(); ++i) {
    const auto& text = log->lines[i];
    if (auto dots = text.find(" train_batch_size ."); dots != std::string::npos)
      if (auto end = text.find_first_not_of('.', dots + 18); end != std::string::npos)
        keep_same(batch, number_after(log, i, " ", end));
    if (auto time = number_after(log, i, "iter time (s):")) {
      auto iteration = number_after(log, i, "steps:");
      if (iteration) times.add({iteration_of(*iteration), seconds_of(*time, 1), time->place});
    } else if (auto rate = figure_after(log, i, "CurrSamplesPerSec=")) {
      auto iteration = number_after(log, i, "global_step=");
      if (!iteration) continue;
      assumes_batch |= !batch;
      rates.add({iteration_of(*iteration), (batch ? batch->value : job.batch) / rate_of(*rate), rate->place});
    } else if (has(text, "time (ms) |") || has(text, "time (ms)|")) {
      // Of a whole step, as opposed to "fwd_microstep".
      auto forward = number_after(log, i, " fwd:"), backward = number_after(log, i, " bwd:"),
           step = number_after(log, i, " step:");
      if (forward && backward && step)
        parts.add({static_cast<std::int64_t>(i),
                   seconds_of({forward->value + backward->value + step->value, 0, forward->place}, 1e-3),
                   forward->place});
    }
  }
  if (run.times.empty() && !by_rate.times.empty()) {
    run.times = std::move(by_rate.times);
    if (assumes_batch)
      run.notes.push_back(
          fmt::format("the log does not say its batch: times follow from samples per second with the "
                      "scenario's, {:.15g} samples a step",
                      job.batch));
  }
  if (run.times.empty() && !by_parts.times.empty()) {
    run.times = std::move(by_parts.times);
    for (std::size_t i = 0; i < run.times.size(); ++i)
      run.times[i].iteration = static_cast<std::int64_t>(i) + 1;
    run.notes.emplace_back("times are forward, backward and step added up: what is between them is missing");
  }
  return run;
}

LoggedRun read_nanogpt_log(const Log& log, const StepSize& /*job*/) {
  LoggedRun run;
  IterationTimes times(run);
  Number before, steps_before;
  for (std::size_t i = 0; i < log->lines.size(); ++i) {
    const auto& text = log->lines[i];
    keep_same(run.facts.tokens, number_after(log, i, "tokens per iteration will be:"));
    if (auto total = text.find("train_time:"); total != std::string::npos) {
      // The time so far: a difference is several steps'.
      if (!has(text, "train_loss:")) continue;
      auto step = number_after(log, i, "step:"), time = number_after(log, i, "train_time:");
      if (!step || !has(text, "ms")) continue;
      if (before && step->value > steps_before->value && time->value > before->value)
        times.add(
            {iteration_of(*step),
             seconds_of({(time->value - before->value) / (step->value - steps_before->value), 0, time->place},
                        1e-3),
             time->place});
      before = time;
      steps_before = step;
      continue;
    }
    if (!has(text, "loss") || !has(text, "ms")) continue;
    auto time = number_after(log, i, " time ");
    if (!time) time = number_after(log, i, " dt:");
    auto step = number_after(log, i, "iter ");
    if (!step) step = number_after(log, i, "step ");
    if (time && step) times.add({iteration_of(*step), seconds_of(*time, 1e-3), time->place});
  }
  return run;
}

const std::vector<TrainingProgram>& training_programs() {
  static const std::vector<TrainingProgram> all{
      {"Megatron-LM",
       read_megatron_log,
       {"elapsed time per iteration", "using world size:", "consumed_train_samples"},
       "it prints 'elapsed time per iteration (ms)' every --log-interval iterations: --log-interval 1"},
      {"torchtitan",
       read_torchtitan_log,
       {"[titan]", "torchtitan", " tps: "},
       "it prints lines of 'step:', 'loss:' and 'tps:' every --metrics.log_freq steps: --metrics.log_freq 1"},
      {"DeepSpeed",
       read_deepspeed_log,
       {"SamplesPerSec=", "DeepSpeed info:", "[deepspeed]", "log_dist"},
       "it prints 'CurrSamplesPerSec' every steps_per_print steps: \"steps_per_print\": 1"},
      {"nanoGPT",
       read_nanogpt_log,
       {"tokens per iteration will be:"},
       "it prints 'iter N: loss ..., time ...ms' every log_interval iterations: --log_interval=1"},
      {"Hugging Face's Trainer",
       read_trainer_log,
       {"{'loss':", "***** Running training *****"},
       "it prints 'train_runtime' and 'train_steps_per_second' when it has finished: keep the log to its "
       "end"}};
  return all;
}

}  // namespace ddpsim::calibrate
