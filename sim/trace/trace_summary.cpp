#include "sim/trace/trace_summary.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/quantity.hpp"

namespace ddpsim {
namespace {

constexpr std::string_view kNotRecorded = "not recorded";
constexpr std::size_t kLargestShown = 8;
constexpr std::size_t kValueWidth = 94;
constexpr int kPercents[] = {10, 25, 50, 75, 90, 100};

class Lines {
 public:
  // The value starts in column 17, and goes on there on further lines where it is long.
  void fact(std::string_view name, std::string_view value) {
    while (value.size() > kValueWidth) {
      auto end = value.rfind(' ', kValueWidth);
      if (end == std::string_view::npos || end == 0) break;  // one long word
      line(fmt::format("{:<16}{}", name, value.substr(0, end)));
      value.remove_prefix(end + 1);
      name = {};
    }
    line(fmt::format("{:<16}{}", name, value));
  }
  void line(std::string_view text) { (out_ += text) += '\n'; }
  [[nodiscard]] std::string text() const { return out_; }

 private:
  std::string out_;
};

std::string or_not_recorded(const std::optional<std::string>& text) {
  return text.value_or(std::string(kNotRecorded));
}

std::string or_not_recorded(const std::optional<Seconds>& time) {
  return time ? format_seconds(*time) : std::string(kNotRecorded);
}

std::string batch(const TraceMetadata& metadata) {
  if (!metadata.batch_size) return std::string(kNotRecorded);
  auto samples = fmt::format("{} sample{}", *metadata.batch_size, *metadata.batch_size == 1 ? "" : "s");
  if (metadata.sequence_length) samples += fmt::format(" of {} tokens", *metadata.sequence_length);
  return samples + " a GPU";
}

// "float32", or each dtype with its share where there are several.
std::string dtypes(const LayerTrace& trace) {
  std::map<DType, Bytes> bytes;
  for (const auto& gradient : trace.gradients) bytes[gradient.dtype] += gradient.bytes();
  if (bytes.size() == 1) return std::string(dtype_name(bytes.begin()->first));
  std::vector<std::string> parts;
  for (const auto& [dtype, part] : bytes)
    parts.push_back(fmt::format("{} {}", format_bytes(part), dtype_name(dtype)));
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::int64_t count_elements(const LayerTrace& trace) {
  return std::accumulate(trace.gradients.begin(), trace.gradients.end(), std::int64_t{0},
                         [](std::int64_t sum, const Gradient& gradient) { return sum + gradient.elements; });
}

std::string arrival(const Gradient& gradient) {
  auto spread = gradient.ready_spread ? fmt::format(" (std {})", format_seconds(*gradient.ready_spread))
                                      : std::string();
  return fmt::format("{} at {}{}", gradient.name, format_seconds(gradient.ready), spread);
}

void add_largest(Lines& lines, const LayerTrace& trace) {
  std::vector<const Gradient*> largest;
  for (const auto& gradient : trace.gradients) largest.push_back(&gradient);
  // Stable: among equals the one that arrives first.
  std::stable_sort(largest.begin(), largest.end(),
                   [](const auto* a, const auto* b) { return a->bytes() > b->bytes(); });
  largest.resize(std::min(largest.size(), kLargestShown));
  lines.line(largest.size() < trace.gradients.size() ? fmt::format("\nlargest {} gradients", largest.size())
                                                     : std::string("\ngradients by size"));
  lines.line(fmt::format("{:>12}  {:>12}  {:>12}  {}", "bytes", "elements", "ready", "gradient"));
  for (const auto* gradient : largest)
    lines.line(fmt::format("{:>12}  {:>12}  {:>12}  {}", format_bytes(gradient->bytes()), gradient->elements,
                           format_seconds(gradient->ready), gradient->name));
}

void add_progress(Lines& lines, const LayerTrace& trace) {
  lines.line("\ngradients ready during backward");
  lines.line(
      fmt::format("{:>8}  {:>12}  {:>9}  {:>12}  {:>7}", "backward", "time", "gradients", "bytes", "share"));
  auto total = trace.bytes();
  for (int percent : kPercents) {
    // 100 % is the last arrival itself, not a product that rounds to just before it.
    auto time = percent == 100 ? trace.backward() : trace.backward() * (percent / 100.0);
    auto end =
        std::upper_bound(trace.gradients.begin(), trace.gradients.end(), time,
                         [](Seconds limit, const Gradient& gradient) { return limit < gradient.ready; });
    auto ready = std::accumulate(trace.gradients.begin(), end, Bytes(),
                                 [](Bytes sum, const Gradient& gradient) { return sum + gradient.bytes(); });
    lines.line(fmt::format("{:>6} %  {:>12}  {:>9}  {:>12}  {:>5.1f} %", percent, format_seconds(time),
                           std::distance(trace.gradients.begin(), end), format_bytes(ready),
                           100 * (ready / total)));
  }
}

}  // namespace

std::string summarize(const LayerTrace& trace) {
  const auto& metadata = trace.metadata;
  Lines lines;
  lines.fact("model", or_not_recorded(metadata.model));
  lines.fact("device", or_not_recorded(metadata.device));
  lines.fact("batch", batch(metadata));
  lines.fact("torch", or_not_recorded(metadata.torch));
  lines.fact("captured", or_not_recorded(metadata.captured));
  lines.fact("source", or_not_recorded(metadata.source));
  if (auto mark = synthetic_mark(metadata)) lines.fact("synthetic", *mark);
  lines.line("");
  lines.fact("forward", or_not_recorded(trace.forward));
  lines.fact("backward", format_seconds(trace.backward()));
  lines.fact("optimizer", or_not_recorded(trace.optimizer));
  if (!trace.buffers.empty()) {
    std::vector<std::string> sizes;
    for (auto bytes : trace.buffers) sizes.push_back(format_bytes(bytes));
    lines.fact("buffers", fmt::format("{}, broadcast before forward", fmt::join(sizes, " and ")));
  }
  if (trace.registration_guessed)
    lines.fact("registration", "not recorded: the reverse of arrival is assumed");
  lines.fact("gradients", fmt::format("{} with {} elements, {} ({})", trace.gradients.size(),
                                      count_elements(trace), format_bytes(trace.bytes()), dtypes(trace)));
  lines.fact("first gradient", arrival(trace.gradients.front()));
  lines.fact("last gradient", arrival(trace.gradients.back()));
  add_largest(lines, trace);
  add_progress(lines, trace);
  return lines.text();
}

}  // namespace ddpsim
