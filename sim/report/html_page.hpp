#pragma once
// A page of HTML that is all in one file: pictures, style and the script that sorts tables are in it, and it
// asks nobody for anything.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ddpsim::html {

// For text and for attributes in quotes. What is not UTF-8 becomes a replacement character.
std::string escaped(std::string_view text);

struct Cell {
  std::string text;
  std::optional<double> key = {};  // to sort by; cells without come last
};

struct Row {
  std::vector<Cell> cells;
  bool is_marked = false;
};

struct Table {
  std::vector<std::string> titles;
  std::vector<Row> rows;
  bool is_sortable = false;  // by a click on a title
};
std::string table(const Table& table);

std::string heading(std::string_view text);
std::string paragraph(std::string_view text);
std::string list(const std::vector<std::string>& lines);
std::string as_typed(std::string_view text);  // in letters of equal width, line by line

// An SVG file as an image of its own; `words` say what it shows.
std::string picture(std::string_view svg, std::string_view words);

// The whole file.
std::string page(std::string_view title, const std::string& body);

}  // namespace ddpsim::html
