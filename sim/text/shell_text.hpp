#pragma once
// What the reader of scripts is made of: text of which each character keeps its place, and variables.
#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/text/shell_script.hpp"

namespace ddpsim::shell {

struct At {
  int line = 1, column = 1;
};

struct Text {
  // Stands in `chars` for what nobody knows, the k-th one for the k-th of `unknowns`.
  static constexpr char kUnknown = '\x01';
  std::string chars;
  std::vector<At> at;  // of each
  std::vector<std::string> unknowns;
  std::vector<bool> is_quoted;  // of each: it stands for itself in a pattern
  bool is_whole = false;        // it stands even if it is empty: quotes
  void add(char c, At where, bool quoted = false) {
    chars += c;
    at.push_back(where);
    is_quoted.push_back(quoted);
  }
  void add(const Text& other) {
    chars += other.chars;
    at.insert(at.end(), other.at.begin(), other.at.end());
    is_quoted.insert(is_quoted.end(), other.is_quoted.begin(), other.is_quoted.end());
    unknowns.insert(unknowns.end(), other.unknowns.begin(), other.unknowns.end());
  }
  void add_as(bool quoted, const Text& other) {
    add(other);
    std::fill(is_quoted.end() - std::ssize(other.chars), is_quoted.end(), quoted);
  }
  void add_unknown(std::string what, At where) {
    add(kUnknown, where);
    unknowns.push_back(std::move(what));
  }
  [[nodiscard]] bool is_known() const { return unknowns.empty(); }
  // Without what nobody knows.
  [[nodiscard]] std::string known() const {
    auto text = chars;
    std::erase(text, kUnknown);
    return text;
  }
};

// A word of the language itself, as `{` and `&&` are.
bool is_plain(const Text& word, std::string_view text);

constexpr bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}
constexpr bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
constexpr bool starts_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
constexpr bool is_of_name(char c) {
  return starts_name(c) || is_digit(c);
}

// One value, or those of an array.
struct Variable {
  std::vector<Text> values;
  bool is_array = false;
};
// Positional parameters are "@" and "1", "2", ... where they are known.
using Variables = std::map<std::string, Variable, std::less<>>;

// Of words without what separates them.
std::vector<Text> split(const Text& text);

}  // namespace ddpsim::shell
