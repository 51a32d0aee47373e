#pragma once
// What the reader of scripts is made of: text of which each character keeps its place, and variables.
#include <cstdint>
#include <map>
#include <optional>
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
  bool is_whole = false;  // it stands even if it is empty: quotes
  void add(char c, At where) {
    chars += c;
    at.push_back(where);
  }
  void add(const Text& other) {
    chars += other.chars;
    at.insert(at.end(), other.at.begin(), other.at.end());
    unknowns.insert(unknowns.end(), other.unknowns.begin(), other.unknowns.end());
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

// One value, or those of an array.
struct Variable {
  std::vector<Text> values;
  bool is_array = false;
};
using Variables = std::map<std::string, Variable, std::less<>>;

// Of words without what separates them.
std::vector<Text> split(const Text& text);

// Whole numbers with + - * / % and parentheses; a name is a variable's. None: a name that nobody knows, whose
// name is put into `unknown`, or what is none of this.
std::optional<std::int64_t> evaluate(std::string_view expression, const Variables& variables,
                                     std::string& unknown);

// Of ((...)): whether it is not 0, or a comparison of two such holds. None: as of evaluate().
std::optional<bool> compared(std::string_view expression, const Variables& variables);
// The variable that it sets ("TP*=2", "TP++"); empty: it sets none.
std::string set_by(std::string_view expression);

// Of `test`, [ and [[: words without the brackets. None: only a running shell knows.
std::optional<bool> holds(const std::vector<Text>& words);

}  // namespace ddpsim::shell
