#include "sim/trace/trace_header.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/check.hpp"
#include "sim/base/limits.hpp"
#include "sim/base/quantity.hpp"
#include "sim/trace/header_lines.hpp"

namespace ddpsim {
namespace {

constexpr std::string_view kSeparators = " \t";

const std::vector<std::string>& known_keys() {
  static const std::vector<std::string> keys{"ddpsim-trace",    "model",     "device",   "batch_size",
                                             "sequence_length", "torch",     "forward",  "optimizer",
                                             "buffers",         "gradients", "elements", "source",
                                             "captured",        "synthetic", "totals"};
  return keys;
}

std::optional<std::string> text_value(const HeaderLines& lines, std::string_view key) {
  const auto* value = lines.find(key);
  return value ? std::optional(value->text) : std::nullopt;
}

std::optional<std::int64_t> count_value(const HeaderLines& lines, std::string_view key) {
  const auto* value = lines.find(key);
  return value ? std::optional(parse_integer(*value, 1, kLargestBatch)) : std::nullopt;
}

std::optional<Seconds> time_value(const HeaderLines& lines, std::string_view key) {
  const auto* value = lines.find(key);
  return value ? std::optional(parse_seconds(*value)) : std::nullopt;
}

// "212480B 424B": one size per broadcast.
std::vector<Bytes> sizes_value(const HeaderLines& lines, std::string_view key) {
  std::vector<Bytes> sizes;
  if (const auto* value = lines.find(key))
    for (std::size_t at = 0; (at = value->text.find_first_not_of(kSeparators, at)) != std::string::npos;) {
      auto length = std::min(value->text.find_first_of(kSeparators, at), value->text.size()) - at;
      Located word{value->text.substr(at, length),
                   value->span.part(static_cast<int>(at), static_cast<int>(length))};
      sizes.push_back(parse_bytes(word));
      if (sizes.back() < Bytes(1))
        throw InputError(word.span, "a broadcast of no bytes", "remove it; buffers are what DDP broadcasts");
      at += length;
    }
  return sizes;
}

// In milliseconds where that reads back as the same double and is not longer, in seconds (factor 1, so always
// exact) elsewhere.
std::string write_seconds(Seconds time) {
  auto milliseconds = fmt::format("{}ms", time.value() * 1e3), seconds = fmt::format("{}s", time.value());
  bool is_better = time.value() < 1 && milliseconds.size() <= seconds.size();
  return is_better && parse_seconds({milliseconds, {}}) == time ? milliseconds : seconds;
}

// A text that stands on one comment line and is read back as it is.
const std::string& one_line(std::string_view key, const std::string& text) {
  bool blank_around = text.empty() || kSeparators.find(text.front()) != std::string_view::npos ||
                      kSeparators.find(text.back()) != std::string_view::npos;
  if (blank_around || text.find_first_of(std::string_view("\0\r\n", 3)) != std::string::npos)
    throw InputError(fmt::format("the trace's {} '{}' cannot be written as a header line", key, text),
                     "it must be one line of text without blanks around it");
  return text;
}

}  // namespace

TraceHeader read_trace_header(const CsvTable& table) {
  auto lines = read_header_lines(table, known_keys());
  TraceHeader header;
  header.metadata.notes = std::move(lines.remarks);
  header.metadata.model = text_value(lines, "model");
  header.metadata.device = text_value(lines, "device");
  header.metadata.batch_size = count_value(lines, "batch_size");
  header.metadata.sequence_length = count_value(lines, "sequence_length");
  header.metadata.torch = text_value(lines, "torch");
  header.metadata.source = text_value(lines, "source");
  header.metadata.captured = text_value(lines, "captured");
  header.metadata.synthetic = text_value(lines, "synthetic");
  header.metadata.totals = text_value(lines, "totals");
  if (header.metadata.totals && header.metadata.totals != "given")
    throw InputError(lines.find("totals")->span, "totals are given, or the line is left out",
                     "write: # totals: given");
  header.forward = time_value(lines, "forward");
  header.optimizer = time_value(lines, "optimizer");
  header.buffers = sizes_value(lines, "buffers");
  if (const auto* count = lines.find("gradients")) header.gradients = *count;
  if (const auto* count = lines.find("elements")) header.elements = *count;
  return header;
}

namespace {

std::int64_t elements_of(const LayerTrace& trace) {
  std::int64_t elements = 0;
  for (const auto& gradient : trace.gradients) elements += gradient.elements;
  return elements;
}

void check_count(const std::optional<Located>& written, std::int64_t found, std::string_view what) {
  if (!written || parse_integer(*written, 1, std::int64_t{1} << 53) == found) return;
  throw InputError(written->span,
                   fmt::format("the header says {} {}, and {} follow", written->text, what, found),
                   "was the file cut short? If it was changed on purpose, correct this line or remove it");
}

}  // namespace

void check_counts(const TraceHeader& header, const LayerTrace& trace) {
  check_count(header.gradients, static_cast<std::int64_t>(trace.gradients.size()), "gradients");
  check_count(header.elements, elements_of(trace), "elements");
}

std::string write_trace_header(const LayerTrace& trace) {
  const auto& metadata = trace.metadata;
  std::string out =
      fmt::format("# {}: {}\n", kTraceFormat, trace.has_forward_ends() ? kNewestTraceVersion : 1);
  auto text = [&out](std::string_view key, const std::optional<std::string>& value) {
    if (value) out += fmt::format("# {}: {}\n", key, one_line(key, *value));
  };
  auto count = [&out](std::string_view key, const std::optional<std::int64_t>& value) {
    if (value) out += fmt::format("# {}: {}\n", key, *value);
  };
  auto time = [&out](std::string_view key, const std::optional<Seconds>& value) {
    if (value) out += fmt::format("# {}: {}\n", key, write_seconds(*value));
  };
  text("model", metadata.model);
  text("device", metadata.device);
  count("batch_size", metadata.batch_size);
  count("sequence_length", metadata.sequence_length);
  text("torch", metadata.torch);
  time("forward", trace.forward);
  time("optimizer", trace.optimizer);
  out += fmt::format("# gradients: {}\n# elements: {}\n", trace.gradients.size(), elements_of(trace));
  if (!trace.buffers.empty()) {
    std::vector<std::string> sizes;
    for (auto bytes : trace.buffers) sizes.push_back(fmt::format("{:.0f}B", bytes.value()));
    out += fmt::format("# buffers: {}\n", fmt::join(sizes, " "));
  }
  text("source", metadata.source);
  text("captured", metadata.captured);
  text("synthetic", metadata.synthetic);
  text("totals", metadata.totals);
  for (const auto& note : metadata.notes) {
    DDPSIM_CHECK(is_remark(note), "a note that would be read as a header key");
    out += fmt::format("# {}\n", one_line("note", note));
  }
  return out;
}

}  // namespace ddpsim
