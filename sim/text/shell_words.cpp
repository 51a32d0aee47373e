#include "sim/text/shell_words.hpp"

#include <array>
#include <utility>

#include <fmt/core.h>

namespace ddpsim::shell {
namespace {

constexpr int kDeepestBrackets = 32;

}  // namespace

std::vector<Text> Words::read_fields(Source& in, std::string_view ends, int depth) {
  if (depth > kDeepestBrackets)
    throw InputError(in.span(in.at()), "brackets are nested too deeply", "write the value itself");
  std::vector<Text> fields(1);
  bool has_field = false;
  while (!in.is_done() && ends.find(in.peek()) == std::string_view::npos)
    read_part(in, fields, has_field, depth);
  if (!has_field && fields.back().chars.empty() && !fields.back().is_whole) fields.pop_back();
  return fields;
}

std::vector<Text> Words::read(Source& in, bool assigns) {
  assigns_ = assigns;
  splits_ = true;
  return read_fields(in, kEndsWord, 0);
}

Text Words::read_whole(Source& in, bool assigns, std::string_view ends) {
  assigns_ = assigns;
  splits_ = false;
  Text word;
  bool is_first = true;
  for (const auto& field : read_fields(in, ends, 0)) {
    if (!std::exchange(is_first, false)) word.add(' ', in.at());
    word.add(field);
    word.is_whole |= field.is_whole;
  }
  word.is_whole |= word.chars.empty();
  return word;
}

std::vector<Text> Words::read_double_brackets(Source& in, At opens, bool assigns) {
  std::vector<Text> words;
  while (!in.is_done()) {
    char c = in.peek();
    constexpr std::array<std::string_view, 4> kBeforePatterns{"==", "=", "!=", "=~"};
    bool is_pattern = !words.empty() && std::ranges::any_of(kBeforePatterns, [&](std::string_view sign) {
      return is_plain(words.back(), sign);
    });
    if (is_space(c)) {
      in.skip(1);
    } else if (in.starts_with("\\\n") || in.starts_with("\\\r\n")) {
      in.skip(in.peek(1) == '\r' ? 3 : 2);
    } else if (!is_pattern && kEndsWord.find(c) != std::string_view::npos) {
      auto& sign = words.emplace_back();
      bool is_pair = in.starts_with("&&") || in.starts_with("||");
      for (int i = 0; i < (is_pair ? 2 : 1); ++i) {
        auto at = in.at();
        sign.add(in.take(), at);
      }
    } else {
      auto word = read_whole(in, assigns, is_pattern ? " \t\r\n" : kEndsWord);
      if (is_plain(word, "]]")) return words;
      words.push_back(std::move(word));
    }
  }
  throw InputError(in.span(opens), "nothing closes this bracket", "add a ]] at its end");
}

void Words::skip_redirection(Source& in, bool keeps_text, bool assigns) {
  bool is_text = in.starts_with("<<") && !in.starts_with("<<<");
  while (std::string_view("<>&|").find(in.peek()) != std::string_view::npos && !in.is_done()) in.skip(1);
  if (in.peek() == '(') {  // <(...)
    auto opens = in.at();
    in.skip(1);
    inside(in, opens, '(', ')');
    return;
  }
  if (is_text && in.peek() == '-') in.skip(1);
  while (in.peek() == ' ') in.skip(1);
  auto target = read(in, assigns);
  if (!is_text || keeps_text || target.empty()) return;
  in.take_line();  // of the command: nothing that we know is put behind
  while (!in.is_done()) {
    in.skip(1);
    auto line = in.take_line();
    line.erase(0, std::min(line.find_first_not_of('\t'), line.size()));
    if (line == target.front().chars) return;
  }
}

void Words::grow(std::size_t by, const Source& in, At at) {
  written_ += by;
  if (written_ > kMostShellText)
    throw InputError(in.span(at),
                     fmt::format("the script's variables say more than {} MiB", kMostShellText >> 20),
                     "write the command's flags into a file of their own");
}

void Words::read_part(Source& in, std::vector<Text>& fields, bool& has_field, int depth) {
  auto at = in.at();
  char c = in.peek();
  if (c == '\\') {
    in.skip(1);
    if (in.peek() == '\r') in.skip(1);
    if (in.is_done()) return;
    if (in.peek() == '\n')
      in.skip(1);
    else
      fields.back().add(in.take(), at, true);
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

void Words::read_single(Source& in, Text& to) {
  auto opens = in.at();
  in.skip(1);
  to.is_whole = true;
  while (!in.is_done() && in.peek() != '\'') {
    auto at = in.at();
    to.add(in.take(), at, true);
  }
  if (in.is_done()) throw InputError(in.span(opens), "nothing closes this quote", "add a ' at its end");
  in.skip(1);
}

void Words::read_double(Source& in, std::vector<Text>& fields, int depth) {
  auto opens = in.at();
  in.skip(1);
  bool is_list = false, has_others = false;  // "$@" without values is no word
  while (!in.is_done() && in.peek() != '"') {
    auto at = in.at();
    bool is_expansion = in.peek() == '$' || in.peek() == '`';
    has_others |= !is_expansion;
    if (in.peek() == '\\') {
      in.skip(1);
      if (in.is_done()) break;
      char c = in.take();
      if (c == '\n') continue;
      if (std::string_view("$`\"\\").find(c) == std::string_view::npos) fields.back().add('\\', at, true);
      fields.back().add(c, at, true);
    } else if (is_expansion) {
      auto value = expand(in, depth);
      is_list |= value.is_list;
      has_others |= !value.is_list || !value.values.empty();
      join_quoted(value, fields, in, at);
    } else {
      grow(1, in, at);
      fields.back().add(in.take(), at, true);
    }
  }
  if (in.is_done()) throw InputError(in.span(opens), "nothing closes this quote", "add a \" at its end");
  in.skip(1);
  fields.back().is_whole |= has_others || !is_list;
}

void Words::join_quoted(const Expansion& value, std::vector<Text>& fields, const Source& in, At at) {
  for (std::size_t i = 0; i < value.values.size(); ++i) {
    if (i > 0 && value.is_list) fields.emplace_back();
    if (i > 0 && !value.is_list) fields.back().add(' ', at, true);
    grow(value.values[i].chars.size() + 1, in, at);
    fields.back().add_as(true, value.values[i]);
    fields.back().is_whole = true;
  }
}

void Words::join_unquoted(const Expansion& value, std::vector<Text>& fields, bool& has_field,
                          const Source& in, At at) {
  bool is_first = true;
  for (const auto& one : value.values) {
    grow(one.chars.size() + 1, in, at);
    if (!splits_) {
      if (!std::exchange(is_first, false)) fields.back().add(' ', at);
      fields.back().add_as(false, one);
      continue;
    }
    auto words = split(one);
    for (const auto& word : words) {
      if (!is_first) fields.emplace_back();
      is_first = false;
      fields.back().add(word);
    }
    if (!words.empty()) has_field = true;
  }
}

}  // namespace ddpsim::shell
