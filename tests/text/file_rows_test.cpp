// Keys of files that are read by rows: docs/reference holds each, its words and its constant default, and
// each is read as its row says.
#include "sim/text/file_rows.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/evidence/evidence.hpp"

#include "tests/support/key_rows.hpp"

namespace ddpsim {
namespace {

using keys::Shape;
using ::testing::HasSubstr;

struct Documented {
  std::string keys, values, usual, meaning;
};

// The lines of the key tables below a heading of docs/reference, up to the next.
std::vector<Documented> tables_below(const std::string& heading) {
  std::vector<Documented> lines;
  for (const auto& page : std::filesystem::directory_iterator(DDPSIM_SOURCE_DIR "/docs/reference")) {
    std::ifstream file(page.path());
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
      cells.resize(4);
      lines.push_back({cells[0], cells[1], cells[2], cells[3]});
    }
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
  expect_documented("## Attention kernels (YAML)", file_rows::attention_shares());
  auto evidence = tables_below("## Evidence (YAML)");
  for (const auto& one : kEvidenceClasses) {
    auto subject = fmt::format("`{}`", name_in(kSubjectNames, one.of));
    auto line = std::ranges::find(evidence, subject, &Documented::keys);
    ASSERT_NE(line, evidence.end()) << subject;
    EXPECT_THAT(line->meaning, HasSubstr(fmt::format("`{}`", one.name)));
  }
}

TEST(FileRows, AreReadAsTheySay) {
  std::string lines;
  int rows = 0, refused = 0;
  auto visit = [&](const char* name, const keys::Section& section, testing::KeyTable but = {}) {
    SCOPED_TRACE(name);
    auto table = testing::table_of(section);
    but.section = table.section, but.read = table.read;
    testing::KeyRows visited(std::move(but));
    lines += fmt::format("# {}\n{}", name, visited.lines);
    rows += visited.rows, refused += visited.refused;
  };
  auto sections = [&](const char* name, const file_rows::Codec& codec, const testing::KeyTable& but = {}) {
    for (const auto& shape : codec->shapes()) visit(name, *shape.section, but);
  };
  testing::KeyTable above_zero,
      overrides{.needs = {{"overrides[]", {{"link", "t"}, {"bandwidth", "1GB/s"}}}}};
  for (const char* share : {"gemm", "gemm_fp32", "gemm_tf32", "attention", "narrow_heads", "elementwise",
                            "memory", "unaligned", "unaligned_attention"})
    above_zero.but.emplace(share, "0");
  visit("gpu", file_rows::gpu(),
        {.but = {{"copy.efficiency", "0"}},
         .pairs = {{"interference.compute[]", "100"}, {"interference.collective[]", "100"}}});
  visit("transformer", file_rows::transformer(),
        {.silent = {"shared_experts", "expert_bias", "router_bias", "shared_gate"}});
  visit("layer", file_rows::layer());
  visit("software", file_rows::software());
  visit("shares", file_rows::shares(), above_zero);
  visit("nccl", file_rows::nccl_platform());
  visit("interference", file_rows::physics_calibration());
  sections("calibration", file_rows::nccl_calibration(),
           {.silent = {"lines[].fitted_to", "lines[].fitted_to[].distrusted_rows"}});
  sections("weather", file_rows::weather());
  sections("ring", file_rows::ring(), {.needs = {{"overrides[]", {{"bandwidth", "1GB/s"}}}}});
  sections("cluster", file_rows::cluster(), overrides);
  sections("graph", file_rows::graph(), overrides);
  sections("links", file_rows::links());
  sections("one-way links", file_rows::one_way_links());
  sections("node", file_rows::node());
  sections("interconnect", file_rows::interconnect(4),
           {.needs = {{"links[]", {{"between", "[0, 1]"}}}}, .pairs = {{"links[].between[]", "1"}}});
  sections("nics", file_rows::nics());
  sections("fabric", file_rows::fabric());
  sections("other_nodes", file_rows::other_nodes());
  EXPECT_GT(rows, 260);
  EXPECT_GT(refused, 3400);
  const char* path = DDPSIM_SOURCE_DIR "/tests/text/file_rows.txt";
  if (std::getenv("DDPSIM_UPDATE") != nullptr) std::ofstream(path) << lines;  // read the difference
  std::ifstream file(path);
  EXPECT_EQ(lines, std::string(std::istreambuf_iterator<char>(file), {}));
}

}  // namespace
}  // namespace ddpsim
