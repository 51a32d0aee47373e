#pragma once
// Measured times of collectives, as other programs write them (docs/reference/measured.md, "Measured
// tables").
#include <optional>
#include <string>
#include <vector>

#include "sim/base/source.hpp"
#include "sim/base/units.hpp"
#include "sim/calibrate/table_operation.hpp"

namespace ddpsim::calibrate {

struct TableRow {
  Bytes bytes;
  Seconds out_of_place;
  std::optional<Seconds> in_place;
  SourceSpan span;  // of the row's size
};

struct CollectiveTable {
  std::string path;
  std::string title;  // the file's name; where it holds several tables with ", 8 GPUs, half" appended
  Operations operations =
      any_operation();       // what it may be of; sizes are of the whole buffer, as nccl-tests' are
  std::optional<int> ranks;  // GPUs, if the file says
  std::optional<int> nodes;  // hosts, if the file says
  std::string device = {};   // what the file calls its GPUs: "NVIDIA H100 80GB HBM3"; empty: nothing
  std::string data_type;     // NCCL's name: "float", "half", "int8"; empty: not known
  std::optional<std::string> nccl_version;  // "2.27.3", if the file says
  bool by_rccl = false;                     // the file says that AMD's RCCL was measured
  std::optional<double> busbw_factor = {};  // busbw / algbw of its largest message, if the file has both
  std::vector<TableRow> rows;               // at least three, ascending in size, each size once
};

// All tables of a file, whatever its format (recognised by its content). Every time is positive
// and finite, and agrees with the algorithm bandwidth beside it where there is one. Throws InputError with
// the place and a hint.
std::vector<CollectiveTable> read_collective_tables(const std::string& path);

}  // namespace ddpsim::calibrate
