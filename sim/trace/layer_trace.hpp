#pragma once
// A recorded backward pass on one GPU: which gradients there are and when each becomes ready.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/shared_text.hpp"
#include "sim/base/source.hpp"
#include "sim/base/units.hpp"

namespace ddpsim {

enum class DType { float16, bfloat16, float32, float64 };

[[nodiscard]] int bytes_per_element(DType dtype);
[[nodiscard]] std::string_view dtype_name(DType dtype);
[[nodiscard]] std::optional<DType> find_dtype(std::string_view name);
[[nodiscard]] std::vector<std::string> dtype_names();
[[nodiscard]] DType parse_dtype(const Located& field);  // throws InputError for an unknown name

struct Gradient {
  SharedText name;
  std::int64_t elements = 0;
  DType dtype = DType::float32;
  Seconds ready;                        // from the start of the backward pass
  std::optional<Seconds> ready_spread;  // standard deviation over the recorded iterations, where recorded
  // End of its layer's forward pass, from the start of the forward pass; of all gradients of a trace or of
  // none.
  std::optional<Seconds> forward_end = {};
  bool is_frozen = false;  // a parameter without gradient: `ready` is when the backward pass is past it

  [[nodiscard]] Bytes bytes() const {
    return Bytes(static_cast<double>(elements) * bytes_per_element(dtype));
  }
  bool operator==(const Gradient&) const = default;
};

// What the file's header says; absent keys stay empty.
struct TraceMetadata {
  std::optional<std::string> model, device, torch, source, captured;
  std::optional<std::int64_t> batch_size, sequence_length;  // samples a GPU and step; tokens a sample
  std::vector<std::string> notes;                           // free comment lines, without the '#'
  std::optional<std::string> synthetic;  // how the times were estimated; absent where they were recorded
  // "given": whatever share each layer has by that, forward and backward pass took as long in all.
  std::optional<std::string> totals = {};

  bool operator==(const TraceMetadata&) const = default;
};

// "estimated, not recorded (FLOPs)"; nothing where the times were recorded. All that shows a trace's times,
// or results of them, says so.
[[nodiscard]] std::optional<std::string> synthetic_mark(const TraceMetadata& metadata);

struct RecordedStep;  // sim/trace/recorded_step.hpp

struct LayerTrace {
  TraceMetadata metadata;
  std::optional<Seconds> forward, optimizer;  // absent: not recorded, counted as zero
  // The model's buffers (running means and such) as DDP broadcasts them before a forward pass, one size per
  // broadcast: tensors of one dtype go together.
  std::vector<Bytes> buffers;
  std::vector<Gradient> gradients;  // in arrival order; never empty; ready times do not decrease
  // Gradient indices in the order in which the model registered its parameters (model.parameters()).
  std::vector<std::size_t> registration_order;
  bool registration_guessed = false;  // nothing said that order: it is the reverse of arrival
  std::vector<std::shared_ptr<const RecordedStep>> steps =
      {};  // all of it, where a script was recorded; in no file

  [[nodiscard]] Seconds backward() const { return gradients.back().ready; }
  [[nodiscard]] bool has_forward_ends() const { return gradients.front().forward_end.has_value(); }
  [[nodiscard]] Bytes bytes() const;  // of gradients
  bool operator==(const LayerTrace&) const = default;
};

// The registration order of a trace that does not record one: n-1, ..., 1, 0.
[[nodiscard]] std::vector<std::size_t> reverse_of_arrival(std::size_t n_gradients);

}  // namespace ddpsim
