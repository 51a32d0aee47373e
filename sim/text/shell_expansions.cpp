// What $ and ` stand for in words.
#include <fmt/core.h>

#include "sim/text/shell_arithmetic.hpp"
#include "sim/text/shell_words.hpp"

namespace ddpsim::shell {
namespace {

Text unknown(std::string what, At where) {
  Text text;
  text.add_unknown(std::move(what), where);
  return text;
}

}  // namespace

Words::Expansion Words::value_of(const std::string& name, bool is_list, const std::string& written,
                                 At at) const {
  auto known = variables_.find(name);
  if (known == variables_.end()) return {{unknown(written, at)}, false};
  const auto& values = known->second.values;
  if (known->second.is_array && !is_list)
    return {values.empty() ? values : std::vector<Text>{values.front()}, false};
  return {values, is_list};
}

Words::Expansion Words::expand(Source& in, int depth) {
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
    return parameter(in.take(), opens);
  if (name.empty()) {
    Text dollar;
    dollar.add('$', opens);
    return {{dollar}, false};
  }
  return value_of(name, false, "$" + name, opens);
}

// $1, $@, $# and the like.
Words::Expansion Words::parameter(char name, At at) const {
  auto all = variables_.find("@");
  auto written = fmt::format("${}", name);
  if (name == '#' && all != variables_.end()) {
    Text count;
    for (char c : std::to_string(all->second.values.size())) count.add(c, at);
    return {{count}, false};
  }
  if (name == '@' || name == '*') return value_of("@", true, written, at);
  return value_of(std::string(1, name), false, written, at);
}

Text Words::inside(Source& in, At opens, char open, char close) {
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
  throw InputError(in.span(opens), "nothing closes this bracket", fmt::format("add a {} at its end", close));
}

Text Words::skip_command(Source& in, std::string_view open, At opens) {
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

Text Words::arithmetic(Source& in, At opens) {
  in.skip(2);
  auto text = inside(in, opens, '(', ')');
  if (in.peek() != ')') throw InputError(in.span(opens), "nothing closes this bracket", "add )) at its end");
  in.skip(1);
  std::string name;
  auto number = evaluate(text.chars, variables_, name);
  if (!number) return unknown(name.empty() ? fmt::format("$(({}))", text.chars.substr(0, 40)) : name, opens);
  Text result;
  for (char c : std::to_string(*number)) result.add(c, opens);
  return result;
}

// ${NAME}, ${NAME[@]}, ${NAME:-word} and the like.
Words::Expansion Words::braces(Source& in, At opens, int depth) {
  in.skip(1);
  auto text = inside(in, opens, '{', '}');
  auto written = fmt::format("${{{}}}", text.chars.substr(0, 40));
  std::size_t end = 0;
  if (!text.chars.empty() && starts_name(text.chars.front()))
    while (end < text.chars.size() && is_of_name(text.chars[end])) ++end;
  else if (text.chars == "@" || text.chars == "*" || text.chars == "#")
    return parameter(text.chars.front(), opens);
  else
    while (end < text.chars.size() && is_digit(text.chars[end])) ++end;
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
  auto fields = read_fields(part, "", depth + 1);
  if (kind == '=' && assigns_) variables_[name] = {fields, false};
  return {fields, false};
}

}  // namespace ddpsim::shell
