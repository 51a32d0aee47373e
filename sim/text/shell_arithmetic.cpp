#include "sim/text/shell_arithmetic.hpp"

#include <charconv>

namespace ddpsim::shell {
namespace {

// "16", octal "020" and "0x10".
std::optional<std::int64_t> integer(std::string_view text) {
  bool is_negative = text.starts_with('-');
  if (is_negative) text.remove_prefix(1);
  bool is_hex = text.starts_with("0x") || text.starts_with("0X");
  bool is_octal = !is_hex && text.size() > 1 && text.front() == '0';
  if (is_hex) text.remove_prefix(2);
  std::int64_t number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number,
                                      is_hex     ? 16
                                      : is_octal ? 8
                                                 : 10);
  if (error != std::errc() || end != text.data() + text.size() || text.starts_with('-')) return std::nullopt;
  return is_negative ? -number : number;
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
    bool dollar = take('$');
    bool braces = take('{');
    skip();
    auto begin = at_;
    while (at_ < text_.size() && is_of_name(text_[at_])) ++at_;
    auto word = text_.substr(begin, at_ - begin);
    if ((braces && !take('}')) || word.empty()) return std::nullopt;
    return is_digit(word.front()) && !dollar ? integer(word) : named(word);
  }

  Number named(std::string_view name) {
    auto known = variables_.find(name);
    if (known == variables_.end() || known->second.values.empty()) {
      unknown_ = "$" + std::string(name);
      return std::nullopt;
    }
    const auto& value = known->second.values.front();
    if (!value.is_known()) unknown_ = value.unknowns.front();
    return value.is_known() ? integer(value.chars) : std::nullopt;
  }

  std::string_view text_;
  const Variables& variables_;
  std::string& unknown_;
  std::size_t at_ = 0;
};

}  // namespace

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

}  // namespace ddpsim::shell
