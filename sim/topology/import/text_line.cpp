#include "sim/topology/import/text_line.hpp"

#include <algorithm>

namespace ddpsim {
namespace {

constexpr std::string_view kBlanks = " \t\r";

std::string without_escapes(std::string line) {
  for (auto at = line.find('['); at != std::string::npos; at = line.find('[', at + 1)) {
    auto end = line.find_first_not_of("0123456789;", at + 1);
    if (end == std::string::npos || line[end] != 'm') continue;
    if (at > 0 && line[at - 1] == '\x1b') --at;
    std::fill(line.begin() + static_cast<std::ptrdiff_t>(at),
              line.begin() + static_cast<std::ptrdiff_t>(end) + 1, ' ');
  }
  return line;
}

}  // namespace

TextLine::TextLine(const std::shared_ptr<const SourceFile>& source, std::size_t index)
    : source_(source), number_(static_cast<int>(index) + 1), text_(without_escapes(source->lines[index])) {}

std::vector<Located> TextLine::words() const {
  std::vector<Located> words;
  for (auto at = text_.find_first_not_of(kBlanks); at != std::string::npos;) {
    auto end = std::min(text_.find_first_of(kBlanks, at), text_.size());
    words.push_back(part(at, end));
    at = text_.find_first_not_of(kBlanks, end);
  }
  return words;
}

std::vector<Located> TextLine::cells() const {
  if (text_.find('\t') == std::string::npos) return words();
  std::vector<Located> cells;
  for (std::size_t at = 0; at <= text_.size();) {
    auto end = std::min(text_.find('\t', at), text_.size());
    auto first = std::min(text_.find_first_not_of(kBlanks, at), end);
    auto last = text_.find_last_not_of(kBlanks, end == 0 ? 0 : end - 1);
    cells.push_back(part(first, first == end || last == std::string::npos ? first : last + 1));
    at = end + 1;
  }
  return cells;
}

SourceSpan TextLine::place() const {
  auto all = words();
  return all.empty() ? end()
                     : SourceSpan{source_, number_, all.front().span.column,
                                  all.back().span.column + all.back().span.length - all.front().span.column};
}

Located TextLine::part(std::size_t begin, std::size_t end) const {
  return {text_.substr(begin, end - begin),
          {source_, number_, static_cast<int>(begin) + 1, std::max(static_cast<int>(end - begin), 1)}};
}

std::optional<std::size_t> line_with(const std::shared_ptr<const SourceFile>& source, std::string_view text,
                                     std::size_t first) {
  for (auto i = first; i < source->lines.size(); ++i)
    if (source->lines[i].find(text) != std::string::npos) return i;
  return std::nullopt;
}

}  // namespace ddpsim
