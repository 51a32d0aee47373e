#include "sim/text/shell_command.hpp"

#include <algorithm>
#include <utility>

namespace ddpsim::shell {
namespace {

bool is_negation(const Text& word) {
  return is_plain(word, "!");
}

}  // namespace

void Command::add(Text word, At at) {
  words.push_back(std::move(word));
  places.push_back(at);
}

void Command::clear_words() {
  words.clear();
  places.clear();
}

bool Command::begins() const {
  return std::ranges::all_of(words, is_negation);
}

bool Command::begins_with(std::string_view word) const {
  return !words.empty() && is_plain(words.back(), word) &&
         std::all_of(words.begin(), words.end() - 1, is_negation);
}

bool Command::is(std::string_view word) const {
  return words.size() == 1 && is_plain(words.front(), word);
}

void Command::set_status(std::optional<bool> value) {
  bool is_negated = words.size() % 2 == 1;
  clear_words();
  status = value ? std::optional(*value != is_negated) : value;
}

}  // namespace ddpsim::shell
