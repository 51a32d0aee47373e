#pragma once
// Comma-separated text as pandas reads it with comment='#': comment lines of "# key: value", one header line,
// records. Fields may be quoted ("a, b"); every field keeps its place for errors. SourceSpans point into the
// file.
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/base/source.hpp"

namespace ddpsim {

struct CsvComment {
  Located key;    // text before the first ':'; the whole comment when there is none
  Located value;  // empty when there is no ':'
};

struct CsvTable {
  std::shared_ptr<const SourceFile> source;
  int version = 1;  // of the format
  std::vector<CsvComment> comments;
  std::vector<Located> header;
  std::vector<std::vector<Located>> rows;  // each as long as the header

  // The column of that name, or nothing.
  [[nodiscard]] std::optional<std::size_t> find_column(std::string_view name) const;
  // The same, or an InputError at the header that lists the columns there are.
  [[nodiscard]] std::size_t column(std::string_view name) const;
};

// `what` names the content for messages ("a layer trace"). Throws InputError for everything load_text
// refuses, a missing header, an unterminated quote, a doubled column, or a record with more or fewer fields
// than the header.
// `format` is the key of the format's own header line, "# format: 1", for formats that have one: it is looked
// for before anything else, so that another kind of file is called just that. Versions go from 1 to `newest`.
CsvTable read_csv(const std::string& path, std::string_view what, std::string_view format = {});
CsvTable parse_csv(const LoadedText& text, std::string_view what, std::string_view format = {},
                   int newest = 1);

// Throws InputError at the first column that is not among the known ones; `what` as in read_csv.
void check_columns(const CsvTable& table, std::span<const std::string> known, std::string_view what);

// One field as text: quoted where a reader, or pandas with comment='#', would take the plain text for
// something else.
std::string csv_field(const std::string& text);

}  // namespace ddpsim
