#include "sim/text/shell_assignment.hpp"

#include <utility>

namespace ddpsim::shell {
namespace {

std::vector<Text> read_array(Source& in, Words& words, bool assigns) {
  auto opens = in.at();
  in.skip(1);
  std::vector<Text> values;
  while (true) {
    if (in.is_done()) throw InputError(in.span(opens), "nothing closes this bracket", "add a ) at its end");
    char c = in.peek();
    if (c == ')') break;
    if (c == '#') {
      in.take_line();
    } else if (kEndsWord.find(c) != std::string_view::npos) {
      in.skip(1);
    } else {
      for (auto& field : words.read(in, assigns)) values.push_back(std::move(field));
    }
  }
  in.skip(1);
  return values;
}

}  // namespace

std::optional<Assignment> read_assignment(Source& in, Words& words, bool assigns) {
  std::size_t length = 0;
  if (!starts_name(in.peek())) return std::nullopt;
  while (is_of_name(in.peek(length))) ++length;
  bool appends = in.peek(length) == '+' && in.peek(length + 1) == '=';
  if (!appends && in.peek(length) != '=') return std::nullopt;
  Assignment found{"", {}, appends};
  while (found.name.size() < length) found.name += in.take();
  in.skip(appends ? 2 : 1);
  if (in.peek() == '(') {
    found.value = {read_array(in, words, assigns), true};
    return found;
  }
  found.value.values.push_back(words.read_whole(in, assigns));
  return found;
}

}  // namespace ddpsim::shell
