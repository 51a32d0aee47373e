// docs/formats.md holds every key of files that are read by rows, its words and its constant default.
#include "sim/text/file_rows.hpp"

#include <fstream>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ddpsim {
namespace {

using keys::Shape;
using ::testing::HasSubstr;

struct Documented {
  std::string keys, values, usual;
};

// The lines of the key tables below a heading, up to the next.
std::vector<Documented> tables_below(const std::string& heading) {
  std::ifstream file(DDPSIM_SOURCE_DIR "/docs/formats.md");
  std::vector<Documented> lines;
  bool is_below = false;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("#")) is_below = line == heading;
    if (!is_below || !line.starts_with("| `")) continue;
    std::vector<std::string> cells;
    for (std::size_t at = 2; at < line.size();) {
      auto end = std::min(line.find(" | ", at), line.size());
      cells.push_back(line.substr(at, end - at));
      at = end + 3;
    }
    cells.resize(3);
    lines.push_back({cells[0], cells[1], cells[2]});
  }
  return lines;
}

// The line that names a key, or the one of the map that it is in.
const Documented* line_of(const std::vector<Documented>& lines, const std::string& path) {
  auto dot = path.rfind('.');
  for (const auto& line : lines) {
    if (line.keys.find("`" + path + "`") != std::string::npos) return &line;
    if (dot == std::string::npos) continue;
    auto above = path.substr(0, dot);
    bool is_part = line.keys.find("`" + above + ".") != std::string::npos &&
                   line.keys.find("`" + path.substr(dot) + "`") != std::string::npos;
    bool is_in_map = line.keys.find("`" + above + "`") != std::string::npos &&
                     line.values.find("`" + path.substr(dot + 1) + "`") != std::string::npos;
    if (is_part || is_in_map) return &line;
  }
  return nullptr;
}

void expect_documented(const std::string& heading, const keys::Section& section) {
  auto lines = tables_below(heading);
  auto usual = section.fresh();
  keys::each_row(section, [&](const std::string& path, const keys::Row& row) {
    if (row.name == "kind") return;
    SCOPED_TRACE(heading + ": " + path);
    auto shape = row.codec->shapes().front();
    const auto* line = line_of(lines, path);
    if (!line && shape.section) return;  // its keys have lines
    ASSERT_TRUE(line);
    for (const auto& word : shape.words) EXPECT_THAT(line->values, HasSubstr("`" + word + "`"));
    bool is_constant = shape.kind == Shape::Kind::number || shape.kind == Shape::Kind::integer ||
                       shape.kind == Shape::Kind::boolean || shape.kind == Shape::Kind::list;
    bool has_none = row.is_required || line->usual.starts_with("required") || line->usual.starts_with("none");
    if (has_none || !is_constant || path != row.name) return;
    auto written = row.codec->write(row.member(usual.get()));
    bool is_empty = !written || (written->kind == config::Value::Kind::sequence && written->items.empty());
    EXPECT_THAT(line->usual, HasSubstr(is_empty ? "" : config::to_flow_text(*written)));
  });
}

TEST(FileRows, AreDocumented) {
  expect_documented("## GPU (YAML)", file_rows::gpu());
  expect_documented("### Sizes of a transformer", file_rows::transformer());
  expect_documented("### A list of layers", file_rows::layer());
  expect_documented("## Software (YAML)", file_rows::software());
  expect_documented("## Software (YAML)", file_rows::shares());
}

}  // namespace
}  // namespace ddpsim
