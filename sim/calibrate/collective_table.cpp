#include "sim/calibrate/collective_table.hpp"

#include <algorithm>

#include "sim/calibrate/readers.hpp"
#include "sim/calibrate/table_parts.hpp"
#include "sim/collective/measured_cost.hpp"

namespace ddpsim::calibrate {
namespace {

constexpr std::string_view kWhat = "a table of collective times";

bool looks_like_json(std::string_view text) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  auto first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos || text[first] == '{') return first != std::string_view::npos;
  if (text[first] != '[') return false;  // mpirun's "[1,0]<stdout>:" also starts so
  auto second = text.find_first_not_of(" \t\r\n", first + 1);
  return second == std::string_view::npos || text[second] == '{' || text[second] == ']';
}

// The first line that is neither blank nor a comment has a comma.
bool looks_like_csv(const SourceFile& source) {
  for (const auto& line : source.lines)
    if (line.find_first_not_of(" \t") != std::string::npos && line.front() != '#')
      return line.find(',') != std::string::npos;
  return false;
}

bool is_own_format(const SourceFile& source) {
  return std::any_of(source.lines.begin(), source.lines.end(),
                     [](const auto& line) { return line.starts_with("# ddpsim-allreduce:"); });
}

// The project's own format has a reader; what is new here is where its rows stand.
std::vector<CollectiveTable> read_own_format(const std::string& path, const LoadedText& text) {
  auto measured = read_measured_table(path);
  if (measured.backend.value_or(Backend::nccl) != Backend::nccl)
    throw InputError(
        whole_file(text.source),
        fmt::format("was measured with {}, and these are curves of NCCL", backend_words(*measured.backend)),
        "use a table of NCCL's all-reduces; 'algorithm: measured' takes this one as it is");
  auto places = parse_csv(text, kWhat);
  auto bytes_column = places.column("bytes");
  auto operation_column = places.find_column("operation");
  std::vector<CollectiveTable> tables;
  for (const auto& [operation, times] : measured.operations) {
    CollectiveTable table;
    table.operations = {operation};
    table.ranks = measured.world_size;
    auto point = times.cost.points().begin();
    for (const auto& row : places.rows) {
      if (operation_column && row[*operation_column].text != operation_name(operation)) continue;
      table.rows.push_back({point->bytes, point->measured, std::nullopt, row[bytes_column].span});
      ++point;
    }
    tables.push_back(std::move(table));
  }
  return tables;
}

std::vector<CollectiveTable> read_json(const LoadedText& text) {
  auto root = parse_json(text);
  if (is_nccl_tests_json(root)) return read_nccl_tests_json(root);
  if (is_galvatron(root)) return read_galvatron(root);
  if (has_json_rows(root)) return read_column_table(json_rows(root));
  throw InputError(root.text.span, "this JSON is not a table of collective times", kKnownFormats);
}

std::vector<CollectiveTable> read_text(const std::string& path, const LoadedText& text) {
  if (looks_like_json(text.text)) return read_json(text);
  if (is_own_format(*text.source)) return read_own_format(path, text);
  if (is_nccl_tests_console(text.source)) return read_nccl_tests_console(text.source);
  if (!looks_like_csv(*text.source))
    throw InputError(whole_file(text.source), "is not a table of collective times that ddpsim knows",
                     kKnownFormats);
  auto table = parse_csv(text, kWhat);
  return is_aiconfigurator(table) ? read_aiconfigurator(table) : read_column_table(table);
}

}  // namespace

std::vector<CollectiveTable> read_collective_tables(const std::string& path) {
  return finish_tables(read_text(path, load_text(path, kWhat)), path);
}

}  // namespace ddpsim::calibrate
