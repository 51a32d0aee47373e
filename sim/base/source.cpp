#include "sim/base/source.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fmt/core.h>
#include <unistd.h>

#include "sim/base/file_kind.hpp"
#include "sim/base/input_file.hpp"
#include "sim/base/input_log.hpp"

namespace ddpsim {
namespace {

constexpr std::size_t kQuotedWidth = 160;

// The user's text as a terminal may show it: control characters become blanks.
std::string printable(std::string_view text, std::string_view kept = {}) {
  std::string out(text);
  std::replace_if(
      out.begin(), out.end(),
      [kept](char c) {
        auto byte = static_cast<unsigned char>(c);
        return (byte < 0x20 || byte == 0x7f) && kept.find(c) == std::string_view::npos;
      },
      ' ');
  return out;
}

// How many characters UTF-8 text shows: its bytes less the continuation bytes.
std::size_t characters(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(
      text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

// The source line with a caret below it; long lines are cut around the span.
std::string quote(const SourceSpan& span) {
  if (!span.file || span.line < 1 || static_cast<std::size_t>(span.line) > span.file->lines.size()) return {};
  std::string line = span.file->lines[static_cast<std::size_t>(span.line) - 1];
  auto column = std::min(static_cast<std::size_t>(std::max(span.column, 1)) - 1, line.size());
  if (line.size() > kQuotedWidth) {
    std::size_t begin = column > kQuotedWidth / 2 ? column - kQuotedWidth / 2 : 0;
    line = line.substr(begin, kQuotedWidth);
    column -= begin;
  }
  line = printable(line);
  auto length = std::clamp<std::size_t>(static_cast<std::size_t>(std::max(span.length, 1)), 1,
                                        std::max<std::size_t>(line.size() - column, 1));
  auto width = characters(line.substr(column, length));
  return fmt::format(
      "\n  {} | {}\n  {} | {}^{}", span.line, line, std::string(std::to_string(span.line).size(), ' '),
      std::string(characters(line.substr(0, column)), ' '), std::string(width > 0 ? width - 1 : 0, '~'));
}

std::string render(const SourceSpan& span, std::string_view message, std::string_view hint) {
  std::string out;
  if (span.file) out += span.file->name + ":";
  if (span.file && span.line > 0) out += fmt::format("{}:{}:", span.line, span.column);
  if (!out.empty()) out += " ";
  out += fmt::format("error: {}{}", printable(message, "\n"), quote(span));
  if (!hint.empty()) out += fmt::format("\nhint: {}", printable(hint, "\n"));
  return out;
}

[[noreturn]] void fail_file(const std::string& path, const std::string& message, std::string_view hint) {
  throw InputError(whole_file(make_source(path, "")), message, hint);
}

}  // namespace

SourceSpan SourceSpan::part(int offset, int part_length) const {
  return {file, line, line > 0 ? column + offset : column, part_length};
}

InputError::InputError(const SourceSpan& span, std::string_view message, std::string_view hint)
    : std::runtime_error(render(span, message, hint)),
      has_place_(span.file != nullptr),
      message_(message),
      hint_(hint) {}

InputError::InputError(std::string_view message, std::string_view hint)
    : InputError(SourceSpan{}, message, hint) {}

InputError InputError::at(const SourceSpan& span) const {
  return has_place_ ? *this : InputError(span, message_, hint_);
}

InputError&& InputError::about(std::string key) && {
  subject_ = std::move(key);
  return std::move(*this);
}

std::shared_ptr<const SourceFile> make_source(std::string name, std::string_view text, bool is_typed) {
  auto file = std::make_shared<SourceFile>();
  file->name = std::move(name);
  file->is_typed = is_typed;
  while (!text.empty()) {
    auto end = text.find('\n');
    auto line = text.substr(0, end);
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    file->lines.emplace_back(line);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return file;
}

SourceSpan whole_file(std::shared_ptr<const SourceFile> file) {
  return {std::move(file), 0, 0, 1};
}

LoadedText load_text(const std::string& path, std::string_view what, std::size_t max_bytes) {
  auto file = open_input(path, what);
  std::string text;
  std::string block(std::size_t{1} << 16, '\0');
  while (text.size() <= max_bytes) {
    auto got = read(file.get(), block.data(), block.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0)
      fail_file(path, fmt::format("cannot be read to its end: {}", std::strerror(errno)), "check the disk");
    if (got == 0) break;
    text.append(block, 0, static_cast<std::size_t>(got));
  }
  check_kind(path, text, what);
  if (text.size() > max_bytes)
    fail_file(path, fmt::format("is larger than {} MiB, too large for {}", max_bytes >> 20, what),
              "is it the right file?");
  if (text.find_first_not_of(" \t\r\n") == std::string::npos)
    fail_file(path, fmt::format("is empty (expected {})", what), "is it the right file?");
  if (text.find('\0') != std::string::npos)
    fail_file(path, fmt::format("holds NUL bytes; it is not {}", what), "is it a binary file?");
  log_input(path, text);
  auto source = make_source(path, text);
  return {std::move(source), std::move(text)};
}

}  // namespace ddpsim
