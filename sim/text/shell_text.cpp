#include "sim/text/shell_text.hpp"

#include <algorithm>
#include <charconv>

#include "sim/text/shell_words.hpp"

namespace ddpsim::shell {
namespace {

bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || is_digit(c);
}

std::optional<std::int64_t> number_of(std::string_view text) {
  std::int64_t number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

class Arithmetic {
 public:
  Arithmetic(std::string_view text, const Variables& variables, std::string& unknown)
      : text_(text), variables_(variables), unknown_(unknown) {}

  std::optional<std::int64_t> value() {
    auto result = sum(0);
    skip();
    return at_ == text_.size() ? result : std::nullopt;
  }

 private:
  static constexpr int kDeepest = 64;
  using Number = std::optional<std::int64_t>;

  void skip() {
    while (at_ < text_.size() && is_space(text_[at_])) ++at_;
  }
  bool take(char c) {
    skip();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  Number sum(int depth) {
    auto left = product(depth);
    while (left) {
      bool adds = take('+');
      if (!adds && !take('-')) break;
      auto right = product(depth);
      std::int64_t result = 0;
      if (!right || (adds ? __builtin_add_overflow(*left, *right, &result)
                          : __builtin_sub_overflow(*left, *right, &result)))
        return std::nullopt;
      left = result;
    }
    return left;
  }

  Number product(int depth) {
    auto left = factor(depth);
    while (left) {
      char sign = take('*') ? '*' : take('/') ? '/' : take('%') ? '%' : ' ';
      if (sign == ' ') break;
      auto right = factor(depth);
      std::int64_t result = 0;
      if (!right || (sign != '*' && *right <= 0)) return std::nullopt;
      if (sign == '*' && __builtin_mul_overflow(*left, *right, &result)) return std::nullopt;
      left = sign == '*' ? result : sign == '/' ? *left / *right : *left % *right;
    }
    return left;
  }

  Number factor(int depth) {
    if (depth > kDeepest) return std::nullopt;
    if (take('(')) {
      auto inside = sum(depth + 1);
      return take(')') ? inside : std::nullopt;
    }
    if (take('-')) {
      auto positive = factor(depth + 1);
      std::int64_t result = 0;
      if (!positive || __builtin_sub_overflow(std::int64_t{0}, *positive, &result)) return std::nullopt;
      return result;
    }
    take('$');
    bool braces = take('{');
    skip();
    auto begin = at_;
    while (at_ < text_.size() && is_name(text_[at_])) ++at_;
    auto word = text_.substr(begin, at_ - begin);
    if ((braces && !take('}')) || word.empty()) return std::nullopt;
    return is_digit(word.front()) && !braces ? number_of(word) : named(word);
  }

  Number named(std::string_view name) {
    auto known = variables_.find(name);
    if (known == variables_.end() || known->second.values.empty()) {
      unknown_ = "$" + std::string(name);
      return std::nullopt;
    }
    const auto& value = known->second.values.front();
    if (!value.is_known()) unknown_ = value.unknowns.front();
    return value.is_known() ? number_of(value.chars) : std::nullopt;
  }

  std::string_view text_;
  const Variables& variables_;
  std::string& unknown_;
  std::size_t at_ = 0;
};

std::optional<bool> compare(std::string_view left, std::string_view sign, std::string_view right) {
  if (sign == "==" || sign == "=") return left == right;
  if (sign == "!=") return left != right;
  auto a = number_of(left), b = number_of(right);
  if (!a || !b) return std::nullopt;
  if (sign == "-eq") return *a == *b;
  if (sign == "-ne") return *a != *b;
  if (sign == "-lt") return *a < *b;
  if (sign == "-le") return *a <= *b;
  if (sign == "-gt") return *a > *b;
  if (sign == "-ge") return *a >= *b;
  return std::nullopt;
}

}  // namespace

std::vector<Text> split(const Text& text) {
  std::vector<Text> words;
  bool is_open = false;
  std::size_t unknowns = 0;
  for (std::size_t i = 0; i < text.chars.size(); ++i) {
    if (is_space(text.chars[i])) {
      is_open = false;
      continue;
    }
    if (!is_open) words.emplace_back();
    is_open = true;
    words.back().add(text.chars[i], text.at[i]);
    if (text.chars[i] == Text::kUnknown) words.back().unknowns.push_back(text.unknowns[unknowns++]);
  }
  return words;
}

std::optional<std::int64_t> evaluate(std::string_view expression, const Variables& variables,
                                     std::string& unknown) {
  return Arithmetic(expression, variables, unknown).value();
}

std::optional<bool> compared(std::string_view expression, const Variables& variables) {
  std::string unknown;
  for (std::string_view sign : {"==", "!=", "<=", ">=", "<", ">"}) {
    auto at = expression.find(sign);
    if (at == std::string_view::npos) continue;
    auto left = evaluate(expression.substr(0, at), variables, unknown);
    auto right = evaluate(expression.substr(at + sign.size()), variables, unknown);
    if (!left || !right) return std::nullopt;
    if (sign == "==") return *left == *right;
    if (sign == "!=") return *left != *right;
    if (sign == "<=") return *left <= *right;
    if (sign == ">=") return *left >= *right;
    return sign == "<" ? *left < *right : *left > *right;
  }
  auto value = evaluate(expression, variables, unknown);
  return value ? std::optional(*value != 0) : std::nullopt;
}

std::string set_by(std::string_view expression) {
  auto is_blank = [](char c) { return c == ' ' || c == '\t'; };
  std::string text;
  for (char c : expression)
    if (!is_blank(c)) text += c;
  bool counts_first = text.starts_with("++") || text.starts_with("--");
  if (counts_first) text.erase(0, 2);
  std::size_t length = 0;
  while (length < text.size() && is_of_name(text[length])) ++length;
  auto name = text.substr(0, length), rest = text.substr(length);
  if (name.empty() || !starts_name(name.front())) return "";
  bool counts = rest.starts_with("++") || rest.starts_with("--");
  auto equals = rest.find('=');
  bool assigns = equals != std::string::npos && equals <= 2 && rest.substr(equals, 2) != "==" &&
                 rest.find_first_of("<>!") > equals;
  return counts_first || counts || assigns ? name : "";
}

std::optional<bool> holds(const std::vector<Text>& words) {
  std::size_t first = 0;
  bool is_negated = false;
  while (first < words.size() && words[first].chars == "!") is_negated = !is_negated, ++first;
  // What a program says is not empty, as variables are that the script does not set.
  std::vector<std::string> texts;
  for (const auto& word : words) {
    texts.push_back(word.known());
    for (const auto& unknown : word.unknowns)
      if (unknown.starts_with("$(")) return std::nullopt;
  }
  auto count = words.size() - first;
  std::optional<bool> result;
  if (count == 1) result = !texts[first].empty();
  if (count == 2 && texts[first] == "-z") result = texts[first + 1].empty();
  if (count == 2 && texts[first] == "-n") result = !texts[first + 1].empty();
  if (count == 3) result = compare(texts[first], texts[first + 1], texts[first + 2]);
  return result ? std::optional(*result != is_negated) : std::nullopt;
}

}  // namespace ddpsim::shell
