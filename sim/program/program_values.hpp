#pragma once
// The words of a line of a program, and its times and sizes.
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "sim/program/program_lines.hpp"
#include "sim/program/written_program.hpp"

namespace ddpsim {

// Word by word through a line.
class WordReader {
 public:
  explicit WordReader(const ProgramLine& line) : line_(line) {}
  [[nodiscard]] bool at_end() const { return next_ == line_.words.size(); }
  [[nodiscard]] SourceSpan place() const { return at_end() ? line_.end : line_.words[next_].span; }
  [[nodiscard]] bool is(const char* word) const { return !at_end() && line_.words[next_].text == word; }
  bool take(const char* word) { return is(word) && (++next_, true); }
  const Located& take(const char* what, const char* hint) {
    if (at_end()) throw InputError(place(), fmt::format("{} is missing", what), hint);
    return line_.words[next_++];
  }
  void expect(const char* word, const char* hint) {
    if (!take(word)) throw InputError(place(), fmt::format("'{}' is missing", word), hint);
  }
  void expect_end(const char* hint) const {
    if (!at_end())
      throw InputError(place(), fmt::format("'{}' does not belong here", line_.words[next_].text), hint);
  }

 private:
  const ProgramLine& line_;
  std::size_t next_ = 0;
};

// Products of numbers with one time or size in them: "block.3.forward", "optimizer/8", "2B*block.3.elements".
class ProgramValues {
 public:
  explicit ProgramValues(const ProgramSymbols& symbols) : symbols_(symbols) {}
  Seconds time(WordReader& words, const char* what);
  Bytes size(WordReader& words, const char* what);
  // What it takes to read so many bytes and to write them.
  Seconds copy(WordReader& words);
  // None: nothing of that name is counted.
  std::optional<std::int64_t> count(std::string_view name);
  // The counts that it was asked for.
  [[nodiscard]] const std::set<std::string, std::less<>>& named() const { return named_; }

 private:
  template <class T>
  T value(WordReader& words, const char* what);
  // And whether it is a T; else a number.
  template <class T>
  std::pair<double, bool> factor_of(const Located& word, const char* hint);

  const ProgramSymbols& symbols_;
  std::set<std::string, std::less<>> named_;
};

}  // namespace ddpsim
