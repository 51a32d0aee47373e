#include "sim/calibrate/console_line.hpp"

#include <algorithm>
#include <string_view>

namespace ddpsim::calibrate {
namespace {

// Blanks out "[0]" before a blank and "[1,0]<stdout>:", so that columns stay where they are.
std::string without_tags(std::string text) {
  for (auto begin = text.find('['); begin != std::string::npos; begin = text.find('[', begin + 1)) {
    auto end = text.find_first_not_of("0123456789,", begin + 1);
    if (end == std::string::npos || text[end] != ']' || end == begin + 1) continue;
    auto rest = std::string_view(text).substr(++end);
    bool stream = rest.starts_with("<stdout>") || rest.starts_with("<stderr>");
    if (stream) end += 8;
    if (stream && end < text.size() && text[end] == ':') ++end;
    if (stream || rest.empty() || rest.front() == ' ') text.replace(begin, end - begin, end - begin, ' ');
  }
  return text;
}

}  // namespace

std::string launchers_prefix(const SourceFile& source) {
  for (const auto& text : source.lines)
    for (std::string_view first : {"# nThread ", "# nccl-tests version ", "# Collective test starting: "})
      if (auto at = text.find(first); at != std::string::npos) return text.substr(0, at);
  return {};
}

ConsoleLine console_line(const std::shared_ptr<const SourceFile>& source, std::size_t index,
                         const std::string& prefix) {
  auto text = source->lines[index];
  if (text.starts_with(prefix)) text.replace(0, prefix.size(), prefix.size(), ' ');
  ConsoleLine line{without_tags(std::move(text)), {}};
  constexpr const char* blank = " \t";
  auto begin = line.text.find_first_not_of(blank);
  if (begin != std::string::npos && line.text[begin] == '#')
    begin = line.text.find_first_not_of(blank, begin + 1);
  while (begin != std::string::npos) {
    auto end = std::min(line.text.find_first_of(blank, begin), line.text.size());
    SourceSpan span{source, static_cast<int>(index) + 1, static_cast<int>(begin) + 1,
                    static_cast<int>(end - begin)};
    line.tokens.push_back({line.text.substr(begin, end - begin), span});
    begin = line.text.find_first_not_of(blank, end);
  }
  return line;
}

ConsoleLine without_log(ConsoleLine line, const std::set<std::string>& hosts) {
  auto& t = line.tokens;
  auto nccl = std::find_if(t.begin(), t.end(), [](const auto& cell) { return cell.text == "NCCL"; });
  bool is_log = t.end() - nccl > 1 && (nccl[1].text == "INFO" || nccl[1].text == "WARN");
  if (!is_log || nccl - t.begin() < 2) return line;
  auto origin = nccl - 1;
  if (origin->text.front() == '[') --origin;
  std::string own;
  for (const auto& host : hosts)
    if (auto at = origin->text.find(host + ":"); at != std::string::npos) own = origin->text.substr(0, at);
  if (!own.empty()) *origin++ = {own, origin->span};
  t.erase(origin, t.end());
  line.has_log = true;
  return line;
}

}  // namespace ddpsim::calibrate
