#pragma once
// Words of a script with their expansions.
#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/core.h>

#include "sim/text/shell_text.hpp"

namespace ddpsim::shell {

inline bool starts_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
inline bool is_of_name(char c) {
  return starts_name(c) || (c >= '0' && c <= '9');
}

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

  // The fields of the word that begins here: none, where all of it expands to nothing.
  std::vector<Text> read(Source& in, std::string_view ends = kEndsWord, int depth = 0) {
    if (depth > kDeepest)
      throw InputError(in.span(in.at()), "brackets are nested too deeply", "write the value itself");
    std::vector<Text> fields(1);
    bool has_field = false;
    while (!in.is_done() && ends.find(in.peek()) == std::string_view::npos)
      read_part(in, fields, has_field, depth);
    if (!has_field && fields.back().chars.empty() && !fields.back().is_whole) fields.pop_back();
    return fields;
  }

 private:
  static constexpr int kDeepest = 32;

  void grow(std::size_t by, const Source& in, At at) {
    written_ += by;
    if (written_ > kMostShellText)
      throw InputError(in.span(at),
                       fmt::format("the script's variables say more than {} MiB", kMostShellText >> 20),
                       "write the command's flags into a file of their own");
  }

  void read_part(Source& in, std::vector<Text>& fields, bool& has_field, int depth) {
    auto at = in.at();
    char c = in.peek();
    if (c == '\\') {
      in.skip(1);
      if (in.peek() == '\r') in.skip(1);
      if (in.is_done()) return;
      if (in.peek() == '\n')
        in.skip(1);
      else
        fields.back().add(in.take(), at);
    } else if (c == '\'') {
      read_single(in, fields.back());
    } else if (c == '"') {
      read_double(in, fields, depth);
    } else if (c == '$' || c == '`') {
      Expansion value = expand(in, depth);
      join_unquoted(value, fields, has_field, in, at);
    } else {
      grow(1, in, at);
      fields.back().add(in.take(), at);
    }
  }

  static void read_single(Source& in, Text& to) {
    auto opens = in.at();
    in.skip(1);
    to.is_whole = true;
    while (!in.is_done() && in.peek() != '\'') {
      auto at = in.at();
      to.add(in.take(), at);
    }
    if (in.is_done()) throw InputError(in.span(opens), "nothing closes this quote", "add a ' at its end");
    in.skip(1);
  }

  void read_double(Source& in, std::vector<Text>& fields, int depth) {
    auto opens = in.at();
    in.skip(1);
    fields.back().is_whole = true;
    while (!in.is_done() && in.peek() != '"') {
      auto at = in.at();
      if (in.peek() == '\\') {
        in.skip(1);
        if (in.is_done()) break;
        char c = in.take();
        if (c == '\n') continue;
        if (std::string_view("$`\"\\").find(c) == std::string_view::npos) fields.back().add('\\', at);
        fields.back().add(c, at);
      } else if (in.peek() == '$' || in.peek() == '`') {
        join_quoted(expand(in, depth), fields, in, at);
      } else {
        grow(1, in, at);
        fields.back().add(in.take(), at);
      }
    }
    if (in.is_done()) throw InputError(in.span(opens), "nothing closes this quote", "add a \" at its end");
    in.skip(1);
  }

  struct Expansion {
    std::vector<Text> values;
    bool is_list = false;  // "${ARGS[@]}": a word each
  };

  void join_quoted(const Expansion& value, std::vector<Text>& fields, const Source& in, At at) {
    for (std::size_t i = 0; i < value.values.size(); ++i) {
      if (i > 0 && value.is_list) fields.emplace_back();
      if (i > 0 && !value.is_list) fields.back().add(' ', at);
      grow(value.values[i].chars.size() + 1, in, at);
      fields.back().add(value.values[i]);
      fields.back().is_whole = true;
    }
  }

  void join_unquoted(const Expansion& value, std::vector<Text>& fields, bool& has_field, const Source& in,
                     At at) {
    bool is_first = true;
    for (const auto& one : value.values) {
      grow(one.chars.size() + 1, in, at);
      auto words = split(one);
      for (const auto& word : words) {
        if (!is_first) fields.emplace_back();
        is_first = false;
        fields.back().add(word);
      }
      if (!words.empty()) has_field = true;
    }
  }

  static Text unknown(std::string what, At where) {
    Text text;
    text.add_unknown(std::move(what), where);
    return text;
  }

  Expansion value_of(const std::string& name, bool is_list, const std::string& written, At at) const {
    auto known = variables_.find(name);
    if (known == variables_.end()) return {{unknown(written, at)}, false};
    const auto& values = known->second.values;
    if (known->second.is_array && !is_list)
      return {values.empty() ? values : std::vector<Text>{values.front()}, false};
    return {values, is_list};
  }

  Expansion expand(Source& in, int depth) {
    auto opens = in.at();
    if (in.peek() == '`') return {{skip_command(in, "`", opens)}, false};
    in.skip(1);
    if (in.starts_with("((")) return {{arithmetic(in, opens)}, false};
    if (in.peek() == '(') return {{skip_command(in, "(", opens)}, false};
    if (in.peek() == '{') return braces(in, opens, depth);
    if (in.peek() == '\'') {
      Text text;
      read_single(in, text);
      return {{text}, false};
    }
    std::string name;
    if (starts_name(in.peek()))
      while (is_of_name(in.peek())) name += in.take();
    else if (std::string_view("0123456789@*#?$!-").find(in.peek()) != std::string_view::npos && !in.is_done())
      return {{unknown(fmt::format("${}", in.take()), opens)}, false};
    if (name.empty()) {
      Text dollar;
      dollar.add('$', opens);
      return {{dollar}, false};
    }
    return value_of(name, false, "$" + name, opens);
  }

  // What stands between brackets, those within it counted and quotes left alone.
  Text inside(Source& in, At opens, char open, char close) {
    Text text;
    int depth = 1;
    char quote = '\0';
    while (!in.is_done()) {
      auto at = in.at();
      char c = in.take();
      if (quote == '\0' && c == open) ++depth;
      if (quote == '\0' && c == close && --depth == 0) return text;
      grow(1, in, at);
      text.add(c, at);
      if (c == '\\' && quote != '\'' && !in.is_done()) {
        auto next = in.at();
        text.add(in.take(), next);
      } else if (quote != '\0') {
        if (c == quote) quote = '\0';
      } else if (c == '"' || c == '\'') {
        quote = c;
      }
    }
    throw InputError(in.span(opens), "nothing closes this bracket",
                     fmt::format("add a {} at its end", close));
  }

  Text skip_command(Source& in, std::string_view open, At opens) {
    in.skip(1);
    if (open == "(") {
      auto text = inside(in, opens, '(', ')');
      return unknown(fmt::format("$({})", text.chars.substr(0, text.chars.find('\n')).substr(0, 40)), opens);
    }
    std::string text;
    while (!in.is_done() && in.peek() != '`') text += in.take();
    if (in.is_done()) throw InputError(in.span(opens), "nothing closes this quote", "add a ` at its end");
    in.skip(1);
    return unknown(fmt::format("$({})", text.substr(0, text.find('\n')).substr(0, 40)), opens);
  }

  Text arithmetic(Source& in, At opens) {
    in.skip(2);
    auto text = inside(in, opens, '(', ')');
    if (in.peek() != ')')
      throw InputError(in.span(opens), "nothing closes this bracket", "add )) at its end");
    in.skip(1);
    std::string name;
    auto number = evaluate(text.chars, variables_, name);
    if (!number)
      return unknown(name.empty() ? fmt::format("$(({}))", text.chars.substr(0, 40)) : name, opens);
    Text result;
    for (char c : std::to_string(*number)) result.add(c, opens);
    return result;
  }

  // ${NAME}, ${NAME[@]}, ${NAME:-word} and the like.
  Expansion braces(Source& in, At opens, int depth) {
    in.skip(1);
    auto text = inside(in, opens, '{', '}');
    auto written = fmt::format("${{{}}}", text.chars.substr(0, 40));
    std::size_t end = 0;
    if (!text.chars.empty() && starts_name(text.chars.front()))
      while (end < text.chars.size() && is_of_name(text.chars[end])) ++end;
    else
      while (end < text.chars.size() && text.chars[end] >= '0' && text.chars[end] <= '9') ++end;
    auto name = text.chars.substr(0, end);
    auto rest = std::string_view(text.chars).substr(end);
    if (name.empty()) return {{unknown(written, opens)}, false};
    bool is_list = rest.starts_with("[@]") || rest.starts_with("[*]");
    if (is_list) rest.remove_prefix(3);
    if (rest.empty()) return value_of(name, is_list, "$" + name, opens);
    bool colon = rest.front() == ':';
    if (colon) rest.remove_prefix(1);
    char kind = rest.empty() ? '\0' : rest.front();
    if (kind != '-' && kind != '=' && kind != '+') return {{unknown(written, opens)}, false};
    auto known = variables_.find(name);
    bool is_set = known != variables_.end() && !known->second.values.empty() &&
                  (!colon || !known->second.values.front().chars.empty());
    if (kind != '+' && is_set) return value_of(name, is_list, "$" + name, opens);
    if (kind == '+' && !is_set) return {};
    auto from = text.chars.size() - rest.size() + 1;
    Text word;
    for (auto i = from; i < text.chars.size(); ++i) word.add(text.chars[i], text.at[i]);
    Source part(std::move(word), file_);
    auto fields = read(part, "", depth + 1);
    if (kind == '=') variables_[name] = {fields, false};
    return {fields, false};
  }

  Variables& variables_;
  std::shared_ptr<const SourceFile> file_;
  std::size_t written_ = 0;
};

}  // namespace ddpsim::shell
