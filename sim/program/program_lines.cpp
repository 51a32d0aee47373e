#include "sim/program/program_lines.hpp"

#include <algorithm>
#include <cctype>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "sim/base/limits.hpp"
#include "sim/base/quantity.hpp"

namespace ddpsim {
namespace {

constexpr std::int64_t kFarthestIndex = kMostLabelIndex;
constexpr std::size_t kDeepestLoops = 8;

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r';
}
bool is_sign(char c) {
  return c == ':' || c == '*' || c == '/';
}

ProgramLine line_of(const std::shared_ptr<const SourceFile>& file, std::size_t number) {
  const auto& text = file->lines[number];
  auto place = [&](std::size_t at, std::size_t length) {
    return SourceSpan{file, static_cast<int>(number) + 1, static_cast<int>(at) + 1, static_cast<int>(length)};
  };
  ProgramLine line;
  std::size_t end = 0;
  for (std::size_t at = 0; at < text.size() && text[at] != '#';) {
    if (is_blank(text[at])) {
      ++at;
      continue;
    }
    auto begin = at++;
    if (!is_sign(text[begin])) {
      bool in_braces = text[begin] == '{';
      for (; at < text.size() && text[at] != '#'; ++at) {
        if (!in_braces && (is_blank(text[at]) || is_sign(text[at]))) break;
        in_braces = text[at] == '{' || (in_braces && text[at] != '}');
      }
    }
    line.words.push_back({text.substr(begin, at - begin), place(begin, at - begin)});
    end = at;
  }
  line.end = place(end, 1);
  return line;
}

class LoopReader {
 public:
  LoopReader(const std::vector<ProgramLine>& lines, const BraceValue& value,
             const std::function<void(const ProgramLine&)>& see)
      : lines_(lines), value_(value), see_(see), end_of_(lines.size()) {}

  void run() {
    match();
    run(0, lines_.size());
  }

 private:
  [[nodiscard]] static bool is(const ProgramLine& line, const char* word) {
    return line.words.front().text == word && (line.words.size() == 1 || line.words[1].text != ":");
  }

  // Which `end` is which loop's.
  void match() {
    std::vector<std::size_t> open;
    for (std::size_t i = 0; i < lines_.size(); ++i) {
      if (is(lines_[i], "for")) {
        open.push_back(i);
        if (open.size() > kDeepestLoops)
          throw InputError(lines_[i].words.front().span,
                           fmt::format("loops are more than {} deep", kDeepestLoops),
                           "write the innermost out");
      }
      if (!is(lines_[i], "end")) continue;
      if (lines_[i].words.size() > 1)
        throw InputError(lines_[i].words[1].span, "'end' stands alone in its line", "remove what follows it");
      if (open.empty())
        throw InputError(lines_[i].words.front().span, "there is no loop to end here",
                         "a loop begins with 'for i = 35..1'");
      end_of_[open.back()] = i;
      open.pop_back();
    }
    if (!open.empty())
      throw InputError(lines_[open.back()].words.front().span, "this loop has no 'end'",
                       "write 'end' in a line below what it repeats");
  }

  void run(std::size_t begin, std::size_t end) {
    for (auto i = begin; i < end; ++i) {
      if (!is(lines_[i], "for")) {
        count(lines_[i]);
        see_(written_out(lines_[i]));
        continue;
      }
      loop(i);
      i = end_of_[i];
    }
  }

  void loop(std::size_t line) {
    auto words = written_out(lines_[line]).words;
    const char* hint = "write 'for i = 35..1'";
    auto at = [&](std::size_t word) { return word < words.size() ? words[word].span : lines_[line].end; };
    bool is_name = words.size() > 1 && std::isalpha(static_cast<unsigned char>(words[1].text[0])) != 0;
    if (!is_name) throw InputError(at(1), "a loop counts something", hint);
    const auto& name = words[1].text;
    if (variables_.contains(name) || value_(name))
      throw InputError(at(1), fmt::format("'{}' has a value already", name), "choose another name");
    if (words.size() < 3 || words[2].text != "=") throw InputError(at(2), "'=' is missing", hint);
    auto dots = words.size() < 4 ? std::string::npos : words[3].text.find("..");
    if (dots == std::string::npos || words.size() > 4)
      throw InputError(at(words.size() > 4 ? 4 : 3), "a loop goes from one number to another", hint);
    auto bound = [&](std::size_t from, std::size_t to) {
      Located text{words[3].text.substr(from, to - from), words[3].span};
      return parse_integer(text, -kFarthestIndex, kFarthestIndex);
    };
    auto first = bound(0, dots), last = bound(dots + 2, words[3].text.size());
    for (auto i = first, step = std::int64_t{last < first ? -1 : 1};; i += step) {
      count(lines_[line]);
      variables_[name] = i;
      run(line + 1, end_of_[line]);
      if (i == last) break;
    }
    variables_.erase(name);
  }

  void count(const ProgramLine& line) {
    if (++count_ > kMostProgramOps)
      throw InputError(line.words.front().span,
                       fmt::format("written out, the program has more than {} lines", kMostProgramOps),
                       "check the ends of its loops");
  }

  [[nodiscard]] ProgramLine written_out(const ProgramLine& line) const {
    auto result = line;
    for (auto& word : result.words)
      for (std::size_t at = 0; (at = word.text.find_first_of("{}", at)) != std::string::npos;) {
        auto end = word.text.find('}', at);
        if (word.text[at] == '}' || end == std::string::npos)
          throw InputError(word.span, "braces come in pairs", "write {i}, {i+1} or {blocks-1}");
        auto value = std::to_string(value_of(word.text.substr(at + 1, end - at - 1), word.span));
        word.text.replace(at, end + 1 - at, value);
        at += value.size();
      }
    return result;
  }

  [[nodiscard]] std::int64_t value_of(const std::string& expression, const SourceSpan& place) const {
    auto sign = expression.find_first_of("+-");
    auto part = [&](std::size_t from, std::size_t to) {
      auto text = expression.substr(from, to - from);
      std::erase_if(text, is_blank);
      return text;
    };
    auto name = part(0, std::min(sign, expression.size()));
    auto variable = variables_.find(name);
    auto value = variable == variables_.end() ? value_(name) : std::optional(variable->second);
    if (!value)
      throw InputError(
          place, fmt::format("nothing here is called '{}'", name),
          "in braces stand a loop's variable and what the model counts, like {i+1} or {blocks-1}");
    if (sign == std::string::npos) return *value;
    auto by = parse_integer({part(sign + 1, expression.size()), place}, 0, kFarthestIndex);
    return expression[sign] == '+' ? *value + by : *value - by;
  }

  const std::vector<ProgramLine>& lines_;
  const BraceValue& value_;
  const std::function<void(const ProgramLine&)>& see_;
  std::vector<std::size_t> end_of_;  // by line that begins a loop
  std::map<std::string, std::int64_t> variables_;
  std::size_t count_ = 0;
};

}  // namespace

std::vector<ProgramLine> program_lines(const LoadedText& text) {
  std::vector<ProgramLine> lines;
  for (std::size_t i = 0; i < text.source->lines.size(); ++i)
    if (auto line = line_of(text.source, i); !line.words.empty()) lines.push_back(std::move(line));
  return lines;
}

void each_program_line(const std::vector<ProgramLine>& lines, const BraceValue& value,
                       const std::function<void(const ProgramLine&)>& see) {
  LoopReader(lines, value, see).run();
}

}  // namespace ddpsim
