#include "traces/capture/capture.hpp"

#include <chrono>
#include <ctime>
#include <future>
#include <thread>

#include "traces/capture/captured_steps.hpp"
#include "traces/capture/cuda_device.hpp"
#include "traces/capture/gradient_hooks.hpp"
#include "traces/capture/training.hpp"
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/check.hpp"
#include "sim/base/program_exit.hpp"
#include "sim/base/progress_line.hpp"
#include "sim/base/source.hpp"

namespace ddpsim {
namespace {

constexpr double kBusySpread = 0.1;

// Events of a step: those of its phases, then one a gradient, then one for each module's forward pass.
enum PhaseEvent : std::size_t { kForward, kBackward, kOptimizer, kEnd, kFirstGradient };

class Capture {
 public:
  explicit Capture(const CaptureOptions& options)
      : on_gpu_(options.device == "cuda"),
        training_(options),
        clock_((on_gpu_ ? make_cuda_clock : make_host_clock)(kFirstGradient + training_.parameters().size() +
                                                             training_.modules().size())),
        hooks_(training_.parameters(), [this](std::size_t parameter) {
          arrival_.push_back(parameter);
          clock_->mark(kFirstGradient + parameter);
        }) {}

  CapturedStep step() {
    training_.zero_gradients();
    arrival_.clear();
    clock_->mark(kForward);
    auto first_module = kFirstGradient + training_.parameters().size();
    auto loss = training_.forward([&](std::size_t module) { clock_->mark(first_module + module); });
    clock_->mark(kBackward);
    loss.backward();
    clock_->mark(kOptimizer);
    training_.step();
    clock_->mark(kEnd);
    if (arrival_.size() != training_.parameters().size())
      throw RunFailed(fmt::format("{} gradients arrived in one backward pass, of {} parameters",
                                  arrival_.size(), training_.parameters().size()));
    auto times = clock_->times();
    CapturedStep step{times[kBackward] - times[kForward], times[kEnd] - times[kOptimizer], arrival_, {}, {}};
    for (std::size_t i = kFirstGradient; i < first_module; ++i)
      step.ready.push_back(times[i] - times[kBackward]);
    step.forward_ends.resize(step.ready.size());
    for (std::size_t module = 0; module < training_.modules().size(); ++module)
      for (auto parameter : training_.modules()[module])
        step.forward_ends[parameter] = times[first_module + module] - times[kForward];
    return step;
  }

  std::vector<CapturedParameter> parameters() const {
    std::vector<CapturedParameter> found;
    for (std::size_t i = 0; i < training_.names().size(); ++i)
      found.push_back({training_.names()[i], training_.parameters()[i].numel(), DType::float32});
    return found;
  }

  // On a GPU while it trains: clocks at rest say nothing.
  DeviceDescription describe_device() {
    if (!on_gpu_) return describe_host();
    auto description = std::async(std::launch::async, describe_cuda);
    while (description.wait_for(std::chrono::seconds(0)) != std::future_status::ready) step();
    return description.get();
  }

 private:
  bool on_gpu_;
  Training training_;
  std::unique_ptr<EventClock> clock_;
  std::vector<std::size_t> arrival_;
  GradientHooks hooks_;
};

TraceMetadata metadata(const CaptureOptions& options, const DeviceDescription& device) {
  TraceMetadata metadata;
  metadata.model = options.model;
  metadata.device = device.name;
  metadata.torch = TORCH_VERSION;
  metadata.batch_size = options.batch;
  metadata.sequence_length = options.sequence;
  metadata.source = fmt::format("ddpsim capture {}", fmt::join(options.measurement(), " "));
  metadata.captured = fmt::format("{:%Y-%m-%d}", fmt::gmtime(std::time(nullptr)));
  metadata.notes = {
      fmt::format(
          "Medians over {} training steps after {} to warm up; ready_std_s is the standard deviation.",
          options.iterations, options.warmup),
      fmt::format("Attention by {}, {} one parameter at a time.", attention_kind(),
                  options.optimizer == "adamw" ? "AdamW" : "SGD")};
  if (options.precision == "bfloat16")
    metadata.notes.emplace_back("Autocast to bfloat16; parameters and gradients are float32.");
  for (const auto& note : device.notes) metadata.notes.push_back(note);
  return metadata;
}

Captured record(const CaptureOptions& options) {
  ProgressLine progress(options.quiet);
  progress.show(fmt::format("building {}", options.model));
  Capture capture(options);
  std::vector<CapturedStep> steps;
  for (int i = 0; i < options.warmup + options.iterations; ++i) {
    auto step = capture.step();
    bool recorded = i >= options.warmup;
    progress.show(recorded ? fmt::format("step {} of {}", i - options.warmup + 1, options.iterations)
                           : fmt::format("warming up, step {} of {}", i + 1, options.warmup));
    if (recorded) steps.push_back(std::move(step));
  }
  Captured captured{
      trace_of_steps(capture.parameters(), steps), write_steps(steps), backward_spread(steps), {}};
  captured.trace.metadata = metadata(options, capture.describe_device());
  if (auto remark = blas_remark(); !remark.empty() && options.device == "cpu")
    captured.remarks.push_back(remark);
  if (captured.spread > kBusySpread)
    captured.remarks.push_back(fmt::format(
        "the backward passes of half of the steps were more than {:.0f} % away from their median; is "
        "the machine busy?",
        100 * captured.spread));
  return captured;
}

// In the words of the CUDA allocator, cuBLAS's handles, and the CPU's allocator.
bool says_out_of_memory(std::string_view message) {
  return message.find("out of memory") != std::string_view::npos ||
         message.find("CUBLAS_STATUS_ALLOC_FAILED") != std::string_view::npos ||
         message.find("can't allocate memory") != std::string_view::npos;
}

[[noreturn]] void fail_too_large(const CaptureOptions& options) {
  throw InputError(
      fmt::format("{} with --batch {} --sequence {} does not fit into the memory of this {}", options.model,
                  options.batch, options.sequence, options.device == "cuda" ? "GPU" : "machine"),
      "a smaller --batch or --sequence needs less; so does --optimizer sgd");
}

}  // namespace

Captured capture(const CaptureOptions& options) {
  if (options.device == "cuda") require_cuda();
  at::set_num_threads(options.threads > 0
                          ? options.threads
                          : std::max(1, static_cast<int>(std::thread::hardware_concurrency())));
  try {
    return record(options);
  } catch (const c10::Error& error) {
    if (says_out_of_memory(error.what_without_backtrace())) fail_too_large(options);
    throw RunFailed(fmt::format("LibTorch: {}", error.what_without_backtrace()));
  } catch (const std::bad_alloc&) {
    fail_too_large(options);
  }
}

}  // namespace ddpsim
