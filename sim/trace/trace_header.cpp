#include "sim/trace/trace_header.hpp"

#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/check.hpp"
#include "sim/base/quantity.hpp"
#include "sim/base/suggest.hpp"

namespace ddpsim {
namespace {

constexpr std::string_view kBlank = " \t";
constexpr std::int64_t kLargestBatch = 1'000'000'000;

using Values = std::map<std::string, Located, std::less<>>;

const std::vector<std::string>& known_keys() {
  static const std::vector<std::string> keys{"ddpsim-trace",    "model",   "device",  "batch_size",
                                             "sequence_length", "torch",   "forward", "optimizer",
                                             "source",          "captured"};
  return keys;
}

bool is_free_text(std::string_view comment) {
  auto colon = comment.find(':');
  if (colon == std::string_view::npos) return true;
  auto key = comment.substr(0, colon);
  key = key.substr(0, key.find_last_not_of(kBlank) + 1);
  return key.empty() || key.find_first_of(kBlank) != std::string_view::npos;
}

// What stands after the '#', without the blanks around it.
std::string comment_text(const CsvComment& comment) {
  std::string_view line = comment.key.span.file->lines[static_cast<std::size_t>(comment.key.span.line) - 1];
  line.remove_prefix(line.find('#') + 1);
  auto first = line.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return std::string(line.substr(first, line.find_last_not_of(kBlank) - first + 1));
}

void check_key(const Located& key) {
  const auto& known = known_keys();
  if (std::find(known.begin(), known.end(), key.text) != known.end()) return;
  throw InputError(
      key.span, fmt::format("unknown header key '{}'{}", key.text, did_you_mean(key.text, known)),
      fmt::format("the keys are {}; a remark has no ':' after its first word", fmt::join(known, ", ")));
}

const Located* find(const Values& values, std::string_view key) {
  auto found = values.find(key);
  return found == values.end() ? nullptr : &found->second;
}

std::optional<std::string> text_value(const Values& values, std::string_view key) {
  const auto* value = find(values, key);
  return value ? std::optional(value->text) : std::nullopt;
}

std::optional<std::int64_t> count_value(const Values& values, std::string_view key) {
  const auto* value = find(values, key);
  return value ? std::optional(parse_integer(*value, 1, kLargestBatch)) : std::nullopt;
}

std::optional<Seconds> time_value(const Values& values, std::string_view key) {
  const auto* value = find(values, key);
  return value ? std::optional(parse_seconds(*value)) : std::nullopt;
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
  bool blank_around = text.empty() || kBlank.find(text.front()) != std::string_view::npos ||
                      kBlank.find(text.back()) != std::string_view::npos;
  if (blank_around || text.find_first_of(std::string_view("\0\r\n", 3)) != std::string::npos)
    throw InputError(fmt::format("the trace's {} '{}' cannot be written as a header line", key, text),
                     "it must be one line of text without blanks around it");
  return text;
}

}  // namespace

TraceHeader read_trace_header(const CsvTable& table) {
  TraceHeader header;
  Values values;
  for (const auto& comment : table.comments) {
    auto text = comment_text(comment);
    if (is_free_text(text)) {
      if (!text.empty()) header.metadata.notes.push_back(std::move(text));
      continue;
    }
    check_key(comment.key);
    if (comment.value.text.empty())
      throw InputError(comment.key.span, fmt::format("header key '{}' has no value", comment.key.text),
                       "give it a value or remove the line");
    auto [first, inserted] = values.emplace(comment.key.text, comment.value);
    if (!inserted)
      throw InputError(comment.key.span, fmt::format("header key '{}' appears twice", comment.key.text),
                       fmt::format("it is first on line {}; remove one", first->second.span.line));
  }
  header.metadata.model = text_value(values, "model");
  header.metadata.device = text_value(values, "device");
  header.metadata.batch_size = count_value(values, "batch_size");
  header.metadata.sequence_length = count_value(values, "sequence_length");
  header.metadata.torch = text_value(values, "torch");
  header.metadata.source = text_value(values, "source");
  header.metadata.captured = text_value(values, "captured");
  header.forward = time_value(values, "forward");
  header.optimizer = time_value(values, "optimizer");
  return header;
}

std::string write_trace_header(const TraceHeader& header) {
  const auto& metadata = header.metadata;
  std::string out = fmt::format("# {}: 1\n", kTraceFormat);
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
  time("forward", header.forward);
  time("optimizer", header.optimizer);
  text("source", metadata.source);
  text("captured", metadata.captured);
  for (const auto& note : metadata.notes) {
    DDPSIM_CHECK(is_free_text(note), "a note that would be read as a header key");
    out += fmt::format("# {}\n", one_line("note", note));
  }
  return out;
}

}  // namespace ddpsim
