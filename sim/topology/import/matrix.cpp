#include "sim/topology/import/matrix.hpp"

#include <algorithm>
#include <charconv>

#include <fmt/core.h>

#include "sim/topology/import/text_line.hpp"
#include "sim/topology/names.hpp"

namespace ddpsim {
namespace {

bool is_gpu(const std::string& word) {
  return number_after("GPU", word).has_value();
}

// The line of columns begins with GPUs; a row's GPU is followed by a class.
bool is_header(const std::vector<Located>& words) {
  return !words.empty() && is_gpu(words[0].text) &&
         (words.size() == 1 || is_gpu(words[1].text) || number_after("NIC", words[1].text) ||
          words[1].text.find('_') != std::string::npos || words[1].text == "CPU");
}

constexpr std::string_view kClassHint = "the classes are X, NV1, NV2 ..., PIX, PXB, PHB, NODE and SYS";

class MatrixReader {
 public:
  explicit MatrixReader(const std::string& path) {
    matrix_.source = load_text(path, "the output of nvidia-smi topo -m", std::size_t{1} << 20).source;
  }

  Matrix read() {
    std::size_t line = 0;
    const auto& lines = matrix_.source->lines;
    while (line < lines.size() && !is_header(TextLine(matrix_.source, line).words())) ++line;
    if (line == lines.size())
      throw InputError(whole_file(matrix_.source), "holds no matrix: no line of columns GPU0 GPU1 ...",
                       "save what 'nvidia-smi topo -m' prints");
    read_header(TextLine(matrix_.source, line));
    for (++line; line < lines.size(); ++line) read_line(TextLine(matrix_.source, line));
    check();
    return std::move(matrix_);
  }

 private:
  void read_header(const TextLine& line) {
    for (auto& word : line.words()) {
      if (word.text == "CPU" || word.text == "NUMA" || word.text == "GPU") break;  // the affinity columns
      bool known = std::any_of(matrix_.devices.begin(), matrix_.devices.end(),
                               [&](const Located& device) { return device.text == word.text; });
      if (known)
        throw InputError(word.span, fmt::format("there are two columns {}", word.text), "remove one");
      if (is_gpu(word.text) && matrix_.gpus < matrix_.devices.size())
        throw InputError(word.span, fmt::format("{} stands behind the NICs", word.text), "GPUs come first");
      matrix_.gpus += is_gpu(word.text) ? 1 : 0;
      matrix_.nic_legend.push_back(word.text);
      matrix_.devices.push_back(std::move(word));
    }
    matrix_.nic_legend.erase(matrix_.nic_legend.begin(),
                             matrix_.nic_legend.begin() + static_cast<std::ptrdiff_t>(matrix_.gpus));
    auto most = std::max(matrix_.gpus, matrix_.devices.size() - matrix_.gpus);
    if (most > static_cast<std::size_t>(kMostGpusPerNode))
      throw InputError(matrix_.devices.back().span, fmt::format("{} devices of one kind in a node", most),
                       fmt::format("a node has at most {} GPUs and as many NICs", kMostGpusPerNode));
    auto cells = line.cells();
    for (std::size_t i = 0; i < cells.size(); ++i)
      if (cells[i].text == "NUMA Affinity") numa_cell_ = i;
    auto words = line.words();
    for (std::size_t i = 0; i + 1 < words.size(); ++i)
      if (words[i].text == "NUMA" && words[i + 1].text == "Affinity") has_numa_ = true;
    matrix_.cells.resize(matrix_.devices.size() * matrix_.devices.size());
    matrix_.numa.resize(matrix_.gpus);
    seen_.resize(matrix_.devices.size());
  }

  [[nodiscard]] std::optional<std::size_t> device(const std::string& name) const {
    for (std::size_t i = 0; i < matrix_.devices.size(); ++i)
      if (matrix_.devices[i].text == name) return i;
    return std::nullopt;
  }

  void read_line(const TextLine& line) {
    auto words = line.words();
    if (words.empty()) return;
    if (is_header(words))
      throw InputError(words[0].span, "a second matrix begins here", "one node is imported: keep one matrix");
    auto row = device(words[0].text);
    if (row) return read_row(*row, line);
    if (is_gpu(words[0].text) || number_after("NIC", words[0].text))
      throw InputError(words[0].span, fmt::format("{} has a row, but no column", words[0].text),
                       "rows and columns are the same devices: is the matrix cut off?");
    for (std::size_t i = 0; i + 1 < words.size(); ++i)  // "NIC0: mlx5_0"
      if (words[i].text.ends_with(':')) {
        auto nic = device(words[i].text.substr(0, words[i].text.size() - 1));
        auto name = words[i + 1].text.substr(0, words[i + 1].text.find(','));
        if (nic && *nic >= matrix_.gpus) matrix_.nic_legend[*nic - matrix_.gpus] = name;
      }
  }

  void read_row(std::size_t row, const TextLine& line) {
    auto cells = line.cells();
    const auto& name = matrix_.devices[row].text;
    if (seen_[row])
      throw InputError(cells[0].span, fmt::format("{} has two rows", name),
                       "one node is imported: keep one matrix");
    seen_[row] = true;
    auto columns = matrix_.devices.size();
    for (std::size_t column = 0; column < columns; ++column) {
      bool given = column + 1 < cells.size() && !cells[column + 1].text.empty();
      if (given)
        matrix_.at(row, column) = read_cell(cells[column + 1], row, column);
      else if (row < matrix_.gpus && column < matrix_.gpus)
        throw InputError(column + 1 < cells.size() ? cells[column + 1].span : line.end(),
                         fmt::format("{} has no cell under {}", name, matrix_.devices[column].text),
                         "is the line cut off?");
    }
    // Words without tabs: the CPU affinity is the first one after the cells, the NUMA affinity the second.
    bool tabs = numa_cell_ && cells.size() > 1 && line.words().size() != cells.size();
    auto numa = tabs ? *numa_cell_ : columns + 2;
    if (row < matrix_.gpus && has_numa_ && numa < cells.size() && cells[numa].text != "N/A")
      matrix_.numa[row] = cells[numa].text;
  }

  Matrix::Cell read_cell(const Located& text, std::size_t row, std::size_t column) const {
    Matrix::Cell cell{0, std::nullopt, text.span};
    if ((text.text == "X") != (row == column))
      throw InputError(
          text.span,
          row == column ? fmt::format("{} and itself are X, not '{}'", matrix_.devices[row].text, text.text)
                        : fmt::format("X between {} and {}: it stands for a device and itself",
                                      matrix_.devices[row].text, matrix_.devices[column].text),
          "are the rows in the order of the columns?");
    if (row == column) return cell;
    if (auto links = number_after("NV", text.text); links && *links >= 1 && *links <= 64) {
      if (std::max(row, column) < matrix_.gpus) {
        cell.nvlinks = *links;
        return cell;
      }
      throw InputError(text.span, "NVLinks lead to no NIC", kClassHint);
    }
    for (auto known : {PcieClass::pix, PcieClass::pxb, PcieClass::phb, PcieClass::node, PcieClass::sys})
      if (text.text == name(known)) cell.pcie = known;
    if (text.text == "SOC") cell.pcie = PcieClass::sys;  // its name before 2017
    if (!cell.pcie)
      throw InputError(text.span, fmt::format("'{}' is no class of links", text.text), kClassHint);
    return cell;
  }

  // Each row is there, and each pair's two cells say the same; a NIC's missing cell is taken from the other
  // one.
  void check() {
    for (std::size_t row = 0; row < matrix_.gpus; ++row)
      if (!seen_[row])
        throw InputError(matrix_.devices[row].span,
                         fmt::format("{} has a column, but no row", matrix_.devices[row].text),
                         "rows and columns are the same devices: is the matrix cut off?");
    auto text = [](const Matrix::Cell& cell) {
      return cell.nvlinks > 0 ? fmt::format("NV{}", cell.nvlinks) : std::string(name(*cell.pcie));
    };
    auto said = [](const Matrix::Cell& cell) { return cell.nvlinks > 0 || cell.pcie; };
    for (std::size_t a = 0; a < matrix_.devices.size(); ++a)
      for (std::size_t b = 0; b < a; ++b) {
        auto &one = matrix_.at(a, b), &other = matrix_.at(b, a);
        if (!said(one)) one = other;
        if (!said(other)) other = one;
        if (one.nvlinks != other.nvlinks || one.pcie != other.pcie)
          throw InputError(one.place,
                           fmt::format("{} and {} are {} here, but {} in line {}", matrix_.devices[a].text,
                                       matrix_.devices[b].text, text(one), text(other), other.place.line),
                           "a link has two ends: the matrix is symmetric");
      }
  }

  Matrix matrix_;
  std::vector<char> seen_;
  std::optional<std::size_t> numa_cell_;  // where the NUMA affinity stands between tabs
  bool has_numa_ = false;
};

}  // namespace

Matrix read_matrix(const std::string& path) {
  return MatrixReader(path).read();
}

}  // namespace ddpsim
