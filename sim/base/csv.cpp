#include "sim/base/csv.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/suggest.hpp"

namespace ddpsim {
namespace {

constexpr std::string_view kBlank = " \t";

Located trimmed(const Located& field) {
  auto first = field.text.find_first_not_of(kBlank);
  if (first == std::string::npos) return {"", field.span};
  auto last = field.text.find_last_not_of(kBlank);
  auto length = last - first + 1;
  return {field.text.substr(first, length),
          field.span.part(static_cast<int>(first), static_cast<int>(length))};
}

CsvComment parse_comment(const Located& line) {
  auto body = line.text.substr(1);
  auto span = line.span.part(1, static_cast<int>(body.size()));
  auto colon = body.find(':');
  if (colon == std::string::npos) return {trimmed({body, span}), {"", span}};
  auto rest = body.substr(colon + 1);
  return {trimmed({body.substr(0, colon), span.part(0, static_cast<int>(colon))}),
          trimmed({rest, span.part(static_cast<int>(colon + 1), static_cast<int>(rest.size()))})};
}

// Splits one line at commas outside double quotes; "" inside quotes is one quote (RFC 4180).
std::vector<Located> split_record(const Located& line) {
  std::vector<Located> fields;
  const std::string& s = line.text;
  std::size_t i = 0;
  for (;;) {
    std::size_t begin = i;
    Located field{"", line.span};
    if (i < s.size() && s[i] == '"') {
      for (++i;; ++i) {
        if (i >= s.size())
          throw InputError(line.span.part(static_cast<int>(begin), static_cast<int>(s.size() - begin)),
                           "a quote is never closed", "close it with \" on the same line");
        if (s[i] != '"')
          field.text += s[i];
        else if (i + 1 < s.size() && s[i + 1] == '"')
          field.text += s[i++];
        else
          break;
      }
      ++i;
      if (i < s.size() && s[i] != ',')
        throw InputError(line.span.part(static_cast<int>(i), 1), "text after a closing quote",
                         "quote the whole field");
      field.span = line.span.part(static_cast<int>(begin), static_cast<int>(i - begin));
      fields.push_back(std::move(field));
    } else {
      i = std::min(s.find(',', begin), s.size());
      fields.push_back(
          trimmed({s.substr(begin, i - begin),
                   line.span.part(static_cast<int>(begin), std::max(1, static_cast<int>(i - begin)))}));
    }
    if (i >= s.size()) return fields;
    ++i;  // the comma
  }
}

void check_header(const CsvTable& table) {
  for (std::size_t i = 0; i < table.header.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (table.header[i].text == table.header[j].text)
        throw InputError(table.header[i].span, fmt::format("column '{}' appears twice", table.header[i].text),
                         "remove one");
}

Located line_of(const std::shared_ptr<const SourceFile>& source, std::size_t index) {
  std::string_view content = source->lines[index];
  if (index == 0 && content.starts_with("\xEF\xBB\xBF")) content.remove_prefix(3);  // a byte order mark
  return {std::string(content),
          {source, static_cast<int>(index) + 1, 1, std::max(1, static_cast<int>(content.size()))}};
}

// The version N of the line "# format: N".
int find_version(const LoadedText& text, std::string_view what, std::string_view format, int newest) {
  for (std::size_t i = 0; i < text.source->lines.size(); ++i) {
    auto line = line_of(text.source, i);
    if (line.text.empty() || line.text.front() != '#') continue;
    auto comment = parse_comment(line);
    if (comment.key.text != format) continue;
    for (int version = 1; version <= newest; ++version)
      if (comment.value.text == std::to_string(version)) return version;
    throw InputError(comment.value.span,
                     fmt::format("{} version '{}' is not known", format, comment.value.text),
                     newest == 1 ? std::string("this program reads version 1")
                                 : fmt::format("this program reads versions 1 to {}", newest));
  }
  throw InputError(whole_file(text.source), fmt::format("has no line '# {}: 1'; it is not {}", format, what),
                   "is it the right file? That line comes first");
}

}  // namespace

std::optional<std::size_t> CsvTable::find_column(std::string_view name) const {
  for (std::size_t i = 0; i < header.size(); ++i)
    if (header[i].text == name) return i;
  return std::nullopt;
}

std::size_t CsvTable::column(std::string_view name) const {
  if (auto found = find_column(name)) return *found;
  std::vector<std::string> names;
  for (const auto& field : header) names.push_back(field.text);
  throw InputError(header.front().span.part(0, 1),
                   fmt::format("no column '{}'{}", name, did_you_mean(name, names)),
                   fmt::format("the columns here are {}", fmt::join(names, ", ")));
}

CsvTable parse_csv(const LoadedText& text, std::string_view what, std::string_view format, int newest) {
  CsvTable table;
  if (!format.empty()) table.version = find_version(text, what, format, newest);
  table.source = text.source;
  for (std::size_t i = 0; i < text.source->lines.size(); ++i) {
    auto line = line_of(text.source, i);
    if (line.text.find_first_not_of(kBlank) == std::string::npos) continue;
    if (line.text.front() == '#') {
      table.comments.push_back(parse_comment(line));
      continue;
    }
    auto fields = split_record(line);
    if (table.header.empty()) {
      table.header = std::move(fields);
      check_header(table);
      continue;
    }
    if (fields.size() != table.header.size())
      throw InputError(line.span,
                       fmt::format("{} field{} where the header has {}", fields.size(),
                                   fields.size() == 1 ? "" : "s", table.header.size()),
                       "is the file cut off, or a comma missing?");
    table.rows.push_back(std::move(fields));
  }
  if (table.header.empty())
    throw InputError(whole_file(text.source), fmt::format("has no header line; it is not {}", what),
                     "is it the right file?");
  return table;
}

CsvTable read_csv(const std::string& path, std::string_view what, std::string_view format) {
  return parse_csv(load_text(path, what), what, format);
}

void check_columns(const CsvTable& table, std::span<const std::string> known, std::string_view what) {
  for (const auto& column : table.header)
    if (std::find(known.begin(), known.end(), column.text) == known.end())
      throw InputError(column.span,
                       fmt::format("unknown column '{}'{}", column.text, did_you_mean(column.text, known)),
                       fmt::format("the columns of {} are {}", what, fmt::join(known, ", ")));
}

std::string csv_field(const std::string& text) {
  bool plain =
      text.find_first_of(",\"#\r\n\t") == std::string::npos && !text.starts_with(' ') && !text.ends_with(' ');
  if (plain) return text;
  std::string quoted = "\"";
  for (char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

}  // namespace ddpsim
