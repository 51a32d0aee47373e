// The tables of `rocm-smi --showtopo`: type of link and hops of each pair, and the NUMA node of each GPU.
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/counted.hpp"
#include "sim/base/quantity.hpp"
#include "sim/topology/import/amd_import.hpp"
#include "sim/topology/import/matrix.hpp"
#include "sim/topology/import/socket_link.hpp"
#include "sim/topology/import/text_line.hpp"
#include "sim/topology/import/topology_writer.hpp"
#include "sim/topology/names.hpp"

namespace ddpsim {
namespace {

constexpr std::string_view kHops = "Hops between two GPUs";
constexpr std::string_view kLinkTypes = "Link Type between two GPUs";
constexpr std::string_view kShowtopo = "save what 'rocm-smi --showtopo' prints";

// One of its tables: a row and a column a GPU.
struct GpuTable {
  std::vector<Located> gpus;
  std::vector<std::vector<Located>> rows;  // in the order of the columns
};

class RocmSmiReader {
 public:
  explicit RocmSmiReader(const std::string& path)
      : source_(load_text(path, "the output of rocm-smi --showtopo", std::size_t{1} << 20).source) {}

  [[nodiscard]] std::optional<GpuTable> table(std::string_view title) const {
    auto at = line_with(source_, title);
    if (!at) return std::nullopt;
    if (auto again = line_with(source_, title, *at + 1))
      throw InputError(line(*again).place(), fmt::format("a second table '{}' begins here", title),
                       "one node is imported: keep the output of one");
    GpuTable table;
    std::size_t next = *at + 1;
    while (next < source_->lines.size() && line(next).words().empty()) ++next;
    if (next < source_->lines.size()) table.gpus = line(next).words();
    if (table.gpus.empty() || !std::ranges::all_of(table.gpus, is_gpu))
      throw InputError(line(*at).place(), "no line of columns GPU0 GPU1 ... follows", kShowtopo.data());
    check_columns(table.gpus);
    table.rows.resize(table.gpus.size());
    for (++next; next < source_->lines.size(); ++next) {
      auto words = line(next).words();
      if (words.empty() || !is_gpu(words.front())) break;
      read_row(table, words, line(next).end());
    }
    for (std::size_t row = 0; row < table.rows.size(); ++row)
      if (table.rows[row].empty())
        throw InputError(table.gpus[row].span,
                         fmt::format("{} has a column, but no row", table.gpus[row].text),
                         "is the output cut off?");
    return table;
  }

  // "GPU[3]  : (Topology) Numa Node: 1", of older ones "GPU 3"; empty: not said.
  [[nodiscard]] std::vector<std::string> numa_nodes(const std::vector<Located>& gpus) const {
    std::vector<std::string> nodes(gpus.size());
    for (std::size_t i = 0; i < source_->lines.size(); ++i) {
      auto one = line(i);
      auto words = one.words();
      if (!one.has("Numa Node:") || words.size() < 2) continue;
      auto name = words[0].text == "GPU" ? "GPU" + words[1].text : words[0].text;
      std::erase_if(name, [](char c) { return c == '[' || c == ']'; });
      auto found = std::ranges::find(gpus, name, &Located::text);
      bool is_known = !words.back().text.empty() &&
                      std::ranges::all_of(words.back().text, [](char c) { return c >= '0' && c <= '9'; });
      if (found != gpus.end() && is_known)
        nodes[static_cast<std::size_t>(found - gpus.begin())] = words.back().text;
    }
    return nodes;
  }

  [[nodiscard]] const std::shared_ptr<const SourceFile>& source() const { return source_; }

 private:
  [[nodiscard]] TextLine line(std::size_t index) const { return {source_, index}; }

  static bool is_gpu(const Located& word) { return number_after("GPU", word.text).has_value(); }

  static void check_columns(const std::vector<Located>& gpus) {
    for (std::size_t i = 0; i < gpus.size(); ++i)
      for (std::size_t j = 0; j < i; ++j)
        if (gpus[i].text == gpus[j].text)
          throw InputError(gpus[i].span, fmt::format("there are two columns {}", gpus[i].text), "remove one");
    if (gpus.size() > static_cast<std::size_t>(kMostGpusPerNode))
      throw InputError(gpus.back().span, fmt::format("more than {} GPUs", kMostGpusPerNode),
                       "one node is imported");
  }

  static void read_row(GpuTable& table, std::vector<Located>& words, const SourceSpan& end) {
    auto found = std::ranges::find(table.gpus, words.front().text, &Located::text);
    if (found == table.gpus.end())
      throw InputError(words.front().span, fmt::format("{} has a row, but no column", words.front().text),
                       "rows and columns are the same GPUs: is the output whole?");
    auto& row = table.rows[static_cast<std::size_t>(found - table.gpus.begin())];
    if (!row.empty())
      throw InputError(words.front().span, fmt::format("{} has two rows", words.front().text),
                       "one node is imported: keep the output of one");
    if (words.size() != table.gpus.size() + 1)
      throw InputError(words.size() > table.gpus.size() ? words.back().span : end,
                       fmt::format("{} has {}, and there are {}", words.front().text,
                                   counted(static_cast<int>(words.size()) - 1, "cell"),
                                   counted(static_cast<int>(table.gpus.size()), "column")),
                       "is the line cut off?");
    row.assign(words.begin() + 1, words.end());
  }

  std::shared_ptr<const SourceFile> source_;
};

// What joins each pair, as a matrix like that of nvidia-smi: direct xGMI hides PCIe.
class RocmSmiPairs {
 public:
  RocmSmiPairs(const GpuTable& types, const std::optional<GpuTable>& hops, std::vector<std::string> numa)
      : types_(types), hops_(hops) {
    matrix_.devices = types.gpus;
    matrix_.gpus = types.gpus.size();
    matrix_.cells.resize(matrix_.gpus * matrix_.gpus);
    matrix_.numa = std::move(numa);
    if (hops_ && !std::ranges::equal(hops_->gpus, types.gpus, {}, &Located::text, &Located::text))
      throw InputError(hops_->gpus.front().span, "the tables are of different GPUs",
                       "keep the output of one 'rocm-smi --showtopo'");
    for (std::size_t a = 0; a < matrix_.gpus; ++a)
      for (std::size_t b = 0; b < matrix_.gpus; ++b)
        if (a != b) read_pair(a, b);
  }

  [[nodiscard]] const Matrix& matrix() const { return matrix_; }
  [[nodiscard]] const std::vector<std::string>& forwarded() const { return forwarded_; }
  [[nodiscard]] bool has_xgmi() const {
    return std::ranges::any_of(matrix_.cells, [](const Matrix::Cell& cell) { return cell.nvlinks > 0; });
  }
  [[nodiscard]] bool has_other_pairs() const {
    return std::ranges::any_of(matrix_.cells, [](const Matrix::Cell& cell) { return cell.pcie.has_value(); });
  }

 private:
  void read_pair(std::size_t a, std::size_t b) {
    const auto &type = types_.rows[a][b], &back = types_.rows[b][a];
    if (type.text != "XGMI" && type.text != "PCIE")
      throw InputError(type.span, fmt::format("'{}' is no type of link", type.text),
                       "rocm-smi knows XGMI and PCIE");
    if (a > b && type.text != back.text)
      throw InputError(type.span,
                       fmt::format("{} and {} are {} here, but {} in line {}", name(a), name(b), type.text,
                                   back.text, back.span.line),
                       "a link has two ends: the table is symmetric");
    auto& cell = matrix_.at(a, b);
    cell.place = type.span;
    auto distance = hops_ ? parse_integer(hops_->rows[a][b], 0, 1000) : 1;
    if (hops_ && a > b && distance != parse_integer(hops_->rows[b][a], 0, 1000))
      throw InputError(hops_->rows[a][b].span,
                       fmt::format("{} hops, and {} back", distance, hops_->rows[b][a].text),
                       "a link has two ends: the table is symmetric");
    if (type.text == "XGMI" && distance <= 1) {
      cell.nvlinks = 1;
      return;
    }
    if (type.text == "XGMI" && a < b) forwarded_.push_back(fmt::format("{}-{}", name(a), name(b)));
    const auto &one = matrix_.numa[a], &other = matrix_.numa[b];
    cell.pcie = !one.empty() && !other.empty() && one != other ? PcieClass::sys : PcieClass::phb;
  }

  [[nodiscard]] const std::string& name(std::size_t gpu) const { return types_.gpus[gpu].text; }

  const GpuTable& types_;
  const std::optional<GpuTable>& hops_;
  Matrix matrix_;
  std::vector<std::string> forwarded_;  // pairs with xGMI of several hops
};

void add_direct_links(const Matrix& matrix, ImportedNode& node) {
  for (std::size_t a = 0; a < matrix.gpus; ++a)
    for (std::size_t b = a + 1; b < matrix.gpus; ++b)
      if (matrix.at(a, b).nvlinks > 0) node.nvlinks.push_back({static_cast<int>(a), static_cast<int>(b), 1});
}

}  // namespace

ImportedTopology import_rocm_smi(const TopologyImport& import) {
  RocmSmiReader reader(import.path);
  auto types = reader.table(kLinkTypes);
  if (!types)
    throw InputError(whole_file(reader.source()), fmt::format("holds no table '{}'", kLinkTypes), kShowtopo);
  const auto& first = types->gpus.front().span;
  check_is_amd(import, first);
  if (!import.amd)
    throw InputError(first, "which GPU of AMD is this? rocm-smi --showtopo does not say", ask_for_amd_gpu());
  auto hops = reader.table(kHops);
  RocmSmiPairs pairs(*types, hops, reader.numa_nodes(types->gpus));
  ImportedNode node;
  take_amd_gpu(*import.amd, "--gpu", node);
  add_direct_links(pairs.matrix(), node);
  int generation = import.pcie_generation.value_or(import.amd->architecture->pcie_generation);
  auto pcie = pcie_bandwidth(generation, 16);
  node.pcie_source = fmt::format(
      "{} GB/s per direction, as RCCL counts generation {} x16 (kvDictPciGen in src/graph/topo.cc); lanes "
      "and "
      "how the GPUs of a NUMA node are joined are assumptions.",
      pcie.value() / 1e9, generation);
  (void)add_pcie_tree(pairs.matrix(), pcie, node);
  if (pairs.has_xgmi())
    node.notes.emplace_back(
        "how many xGMI links join two GPUs is not in these tables: one each is assumed; RCCL's topology file "
        "says (NCCL_TOPO_DUMP_FILE, --format nccl-xml)");
  if (pairs.has_xgmi() && !hops)
    node.notes.emplace_back("without its table of hops every XGMI is taken for a link of its own");
  if (!pairs.forwarded().empty())
    node.notes.push_back(
        fmt::format("joined by PCIe here, as xGMI reaches them by way of other GPUs only: {}",
                    fmt::join(pairs.forwarded(), ", ")));
  add_socket_link(node, import, std::nullopt, "rocm-smi");
  node.cpu = import.cpu;
  node.finish();
  return write_topology(node, import, "rocm-smi --showtopo");
}

}  // namespace ddpsim
