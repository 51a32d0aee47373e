#include "sim/text/shell_text.hpp"

namespace ddpsim::shell {

bool is_plain(const Text& word, std::string_view text) {
  return !word.is_whole && word.chars == text &&
         std::ranges::none_of(word.is_quoted, [](bool quoted) { return quoted; });
}

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

}  // namespace ddpsim::shell
