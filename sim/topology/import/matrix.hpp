#pragma once
// The matrix of `nvidia-smi topo -m`.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/topology/import/imported_node.hpp"

namespace ddpsim {

struct Matrix {
  struct Cell {
    int nvlinks = 0;
    std::optional<PcieClass>
        pcie;  // what joins the two without NVLink; nullopt: not said, or hidden by NVLink
    SourceSpan place;
  };
  std::vector<Located> devices;  // GPUs first, then NICs
  std::size_t gpus = 0;
  std::vector<Cell> cells;              // row by row; a pair's two cells agree
  std::vector<std::string> numa;        // of each GPU; empty: not said
  std::vector<std::string> nic_legend;  // of each NIC: its name there, or the column's
  std::shared_ptr<const SourceFile> source;

  [[nodiscard]] const Cell& at(std::size_t a, std::size_t b) const { return cells[a * devices.size() + b]; }
  Cell& at(std::size_t a, std::size_t b) { return cells[a * devices.size() + b]; }
};

// Reads the output: tabs or blanks between the cells, escape sequences of the terminal, other text around it.
// Rows of NICs and cells that concern NICs may be absent. Throws InputError for a cell that is missing, of an
// unknown class or differs from its mirror image, rows that are not the columns, no matrix and several.
Matrix read_matrix(const std::string& path);

// The PCIe tree that the classes describe, vertices and roots of `node`; no bandwidth of `link`: not known.
// GPUs whose class NVLink hides are put below one host bridge unless something in the matrix speaks against
// it. Throws InputError where the classes are no tree. Returns whether something was assumed so.
bool add_pcie_tree(const Matrix& matrix, BytesPerSecond link, ImportedNode& node);

}  // namespace ddpsim
