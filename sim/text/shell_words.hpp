#pragma once
// Words of a script with their expansions.
#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sim/text/shell_text.hpp"

namespace ddpsim::shell {

inline constexpr std::string_view kEndsWord = " \t\r\n;&|()<>";

// Characters of a part of a script, and where each stands.
class Source {
 public:
  Source(std::string_view text, std::shared_ptr<const SourceFile> file) : file_(std::move(file)) {
    At at;
    for (char c : text) {
      text_.add(c == Text::kUnknown ? '?' : c, at);
      c == '\n' ? (++at.line, at.column = 1) : ++at.column;
    }
    end_ = at;
  }
  // A part that was cut out.
  Source(Text part, std::shared_ptr<const SourceFile> file) : text_(std::move(part)), file_(std::move(file)) {
    if (!text_.at.empty()) end_ = text_.at.back();
  }

  [[nodiscard]] bool is_done() const { return next_ >= text_.chars.size(); }
  [[nodiscard]] char peek(std::size_t ahead = 0) const {
    return next_ + ahead < text_.chars.size() ? text_.chars[next_ + ahead] : '\0';
  }
  [[nodiscard]] bool starts_with(std::string_view text) const {
    return std::string_view(text_.chars).substr(std::min(next_, text_.chars.size())).starts_with(text);
  }
  [[nodiscard]] At at() const { return next_ < text_.at.size() ? text_.at[next_] : end_; }
  char take() { return text_.chars[next_++]; }
  void skip(std::size_t count) { next_ = std::min(next_ + count, text_.chars.size()); }
  void finish() { next_ = text_.chars.size(); }
  [[nodiscard]] std::size_t position() const { return next_; }
  // From there to here.
  [[nodiscard]] Text part(std::size_t begin) const {
    Text part;
    for (auto i = begin; i < next_; ++i) part.add(text_.chars[i], text_.at[i]);
    return part;
  }
  std::string take_line() {
    std::string line;
    while (!is_done() && peek() != '\n') line += take();
    return line;
  }
  [[nodiscard]] SourceSpan span(At from, int length = 1) const {
    return {file_, from.line, from.column, length};
  }

 private:
  Text text_;
  std::shared_ptr<const SourceFile> file_;
  std::size_t next_ = 0;
  At end_;
};

// Words with their expansions.
class Words {
 public:
  Words(Variables& variables, std::shared_ptr<const SourceFile> file)
      : variables_(variables), file_(std::move(file)) {}

  // The fields of the word that begins here: none, where all of it expands to nothing. ${A:=b} sets A where
  // `assigns`.
  std::vector<Text> read(Source& in, bool assigns);
  // The same without splitting, as in assignments.
  Text read_whole(Source& in, bool assigns, std::string_view ends = kEndsWord);
  // Those of a [[ as far as its ]]: && and || are words of it, and expansions are not split.
  std::vector<Text> read_double_brackets(Source& in, At opens, bool assigns);
  // Over where output goes, and over a text that a program reads, unless `keeps_text`.
  void skip_redirection(Source& in, bool keeps_text, bool assigns);
  [[nodiscard]] std::size_t written() const { return written_; }

 private:
  struct Expansion {
    std::vector<Text> values;
    bool is_list = false;  // "${ARGS[@]}": a word each
  };

  void grow(std::size_t by, const Source& in, At at);
  std::vector<Text> read_fields(Source& in, std::string_view ends, int depth);
  void read_part(Source& in, std::vector<Text>& fields, bool& has_field, int depth);
  static void read_single(Source& in, Text& to);
  void read_double(Source& in, std::vector<Text>& fields, int depth);
  void join_quoted(const Expansion& value, std::vector<Text>& fields, const Source& in, At at);
  void join_unquoted(const Expansion& value, std::vector<Text>& fields, bool& has_field, const Source& in,
                     At at);
  [[nodiscard]] Expansion value_of(const std::string& name, bool is_list, const std::string& written,
                                   At at) const;
  Expansion expand(Source& in, int depth);
  [[nodiscard]] Expansion parameter(char name, At at) const;
  // What stands between brackets, those within it counted and quotes left alone.
  Text inside(Source& in, At opens, char open, char close);
  Text skip_command(Source& in, std::string_view open, At opens);
  Text arithmetic(Source& in, At opens);
  Expansion braces(Source& in, At opens, int depth);

  Variables& variables_;
  std::shared_ptr<const SourceFile> file_;
  std::size_t written_ = 0;
  bool assigns_ = true, splits_ = true;
};

}  // namespace ddpsim::shell
