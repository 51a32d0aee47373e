#include "sim/text/shell_conditions.hpp"

#include <algorithm>
#include <charconv>
#include <string>

#include <fnmatch.h>

#include "sim/text/shell_arithmetic.hpp"

namespace ddpsim::shell {
namespace {

std::optional<std::int64_t> decimal(std::string_view text) {
  std::int64_t number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::optional<bool> both(std::optional<bool> a, std::optional<bool> b) {
  if (a == false || b == false) return false;
  return a && b ? std::optional(true) : std::nullopt;
}
std::optional<bool> negated(std::optional<bool> value) {
  return value ? std::optional(!*value) : std::nullopt;
}
std::optional<bool> either(std::optional<bool> a, std::optional<bool> b) {
  return negated(both(negated(a), negated(b)));
}

class Expression {
 public:
  // `variables`: of [[; null: of [.
  Expression(const std::vector<Text>& words, const Variables* variables)
      : words_(words), variables_(variables) {}

  std::optional<bool> value() {
    auto result = any(0);
    return next_ == words_.size() ? result : std::nullopt;
  }

 private:
  static constexpr int kDeepest = 64;

  [[nodiscard]] bool is_next(std::string_view doubled, std::string_view single) const {
    return next_ < words_.size() && is_plain(words_[next_], variables_ ? doubled : single);
  }
  bool take(std::string_view doubled, std::string_view single) {
    bool is_it = is_next(doubled, single);
    if (is_it) ++next_;
    return is_it;
  }
  [[nodiscard]] bool ends() const {
    return next_ == words_.size() || is_next("&&", "-a") || is_next("||", "-o") || is_next(")", ")");
  }

  std::optional<bool> any(int depth) {
    auto value = all(depth);
    while (take("||", "-o")) value = either(value, all(depth));
    return value;
  }
  std::optional<bool> all(int depth) {
    auto value = one(depth);
    while (take("&&", "-a")) value = both(value, one(depth));
    return value;
  }

  std::optional<bool> one(int depth) {
    if (depth > kDeepest) return std::nullopt;
    if (next_ + 1 < words_.size() && take("!", "!")) return negated(one(depth + 1));
    if (variables_ && take("(", "(")) {
      auto value = any(depth + 1);
      return take(")", ")") ? value : std::nullopt;
    }
    auto first = next_;
    while (!ends()) ++next_;
    return primary(first, next_ - first);
  }

  std::optional<bool> primary(std::size_t first, std::size_t count) const {
    // What a program says is not empty, as variables are that the script does not set.
    for (auto i = first; i < first + count; ++i)
      for (const auto& unknown : words_[i].unknowns)
        if (unknown.starts_with("$(")) return std::nullopt;
    auto text = [&](std::size_t i) { return words_[first + i].known(); };
    if (count == 1) return !text(0).empty();
    if (count == 2 && text(0) == "-z") return text(1).empty();
    if (count == 2 && text(0) == "-n") return !text(1).empty();
    return count == 3 ? compare(text(0), text(1), words_[first + 2]) : std::nullopt;
  }

  [[nodiscard]] std::optional<std::int64_t> number(const std::string& text) const {
    std::string unknown;
    return variables_ ? evaluate(text, *variables_, unknown) : decimal(text);
  }

  [[nodiscard]] std::optional<bool> compare(const std::string& left, const std::string& sign,
                                            const Text& right) const {
    bool is_equality = sign == "==" || sign == "=";
    if (is_equality || sign == "!=") {
      auto same = variables_ ? fits(left, right) : std::optional(left == right.known());
      return is_equality ? same : negated(same);
    }
    auto a = number(left), b = number(right.known());
    if (!a || !b) return std::nullopt;
    if (sign == "-eq") return *a == *b;
    if (sign == "-ne") return *a != *b;
    if (sign == "-lt") return *a < *b;
    if (sign == "-le") return *a <= *b;
    if (sign == "-gt") return *a > *b;
    if (sign == "-ge") return *a >= *b;
    return std::nullopt;
  }

  const std::vector<Text>& words_;
  const Variables* variables_;
  std::size_t next_ = 0;
};

}  // namespace

std::optional<bool> fits(std::string_view text, const Text& pattern) {
  constexpr std::size_t kMostSteps = std::size_t{1} << 20;
  std::string escaped;
  for (std::size_t i = 0; i < pattern.chars.size(); ++i) {
    char c = pattern.chars[i];
    if (c == Text::kUnknown) continue;
    if (c == '(' && !pattern.is_quoted[i]) return std::nullopt;  // of bash's own: @(a|b)
    if (pattern.is_quoted[i]) escaped += '\\';
    escaped += c;
  }
  if (text.size() * escaped.size() > kMostSteps) return std::nullopt;
  return fnmatch(escaped.c_str(), std::string(text).c_str(), 0) == 0;
}

std::optional<bool> holds(const std::vector<Text>& words) {
  return Expression(words, nullptr).value();
}

std::optional<bool> holds_double(const std::vector<Text>& words, const Variables& variables) {
  return Expression(words, &variables).value();
}

std::optional<bool> status_of(std::vector<Text> words, std::optional<bool> others) {
  auto first = std::ranges::find_if(words, [](const Text& word) { return !is_plain(word, "!"); });
  bool is_negated = (first - words.begin()) % 2 == 1;
  words.erase(words.begin(), first);
  auto status = others;
  if (words.empty() || !words.front().is_known()) {
    status = std::nullopt;
  } else if (auto name = words.front().chars; name == "true" || name == ":" || name == "false") {
    status = name != "false";
  } else if (name == "[" || name == "test") {
    words.erase(words.begin());
    if (name == "[" && !words.empty() && is_plain(words.back(), "]")) words.pop_back();
    status = holds(words);
  }
  return is_negated ? negated(status) : status;
}

}  // namespace ddpsim::shell
