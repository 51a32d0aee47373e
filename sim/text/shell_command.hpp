#pragma once
// A command of a script as far as it was read.
#include <optional>
#include <string_view>
#include <vector>

#include "sim/text/shell_state.hpp"

namespace ddpsim::shell {

struct Command {
  std::vector<Text> words;
  std::vector<At> places;                     // of its words
  std::optional<std::optional<bool>> status;  // of what stands in place of words
  State::Kept before;                         // what its assignments replaced
  bool declares = false, is_local = false, has_assigned = false;

  void add(Text word, At at);
  void clear_words();
  [[nodiscard]] bool is_empty() const { return words.empty() && !has_assigned && !status; }
  // Whether nothing but ! stands before the next word.
  [[nodiscard]] bool begins() const;
  // Whether the last word is that one, and nothing but ! stands before it.
  [[nodiscard]] bool begins_with(std::string_view word) const;
  // Whether that is its only word.
  [[nodiscard]] bool is(std::string_view word) const;
  // What stands here in place of words, with a ! or several before it.
  void set_status(std::optional<bool> value);
};

}  // namespace ddpsim::shell
