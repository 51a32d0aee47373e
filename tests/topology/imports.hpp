#pragma once
// What tests of the importers share: fixtures, what an import makes of them, and matrices to compare.
#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "sim/topology/describe.hpp"
#include "sim/topology/import/topology_import.hpp"

#include "tests/topology/clusters.hpp"

namespace ddpsim::testing {

inline std::string fixture(const std::string& name) {
  return std::string(DDPSIM_SOURCE_DIR) + "/tests/topology/fixtures/" + name;
}

inline std::string contents(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

inline TopologyImport from(const std::string& path) {
  TopologyImport import;
  import.path = path;
  return import;
}

inline ImportedTopology import_any(const TopologyImport& import) {
  if (import.path.ends_with(".xml")) return import_nccl_xml(import);
  return import.amd ? import_rocm_smi(import) : import_nvidia_smi(import);
}

// The imported topology, read back.
inline std::shared_ptr<const Cluster> imported(const TopologyImport& import) {
  auto topology = read_text(import_any(import).yaml);
  return topology->build(*topology->usual_size());
}

// Words, in rows.
using Words = std::vector<std::vector<std::string>>;
inline Words words_of(const std::string& text) {
  Words rows;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    auto& row = rows.emplace_back();
    std::istringstream words(line);
    for (std::string word; words >> word;) row.push_back(word);
  }
  return rows;
}

// What `ddpsim topology show` has in its matrix.
inline Words shown(const Cluster& cluster) {
  Words rows(static_cast<std::size_t>(cluster.gpus()));
  for (int a = 0; a < cluster.gpus(); ++a)
    for (int b = 0; b < cluster.gpus(); ++b)
      rows[static_cast<std::size_t>(a)].push_back(link_type(cluster, a, b));
  return rows;
}

// The cells between GPUs in the output of nvidia-smi: the rows that begin with a GPU and hold an X.
inline Words gpu_cells(const std::string& text) {
  Words rows;
  for (auto& row : words_of(text))
    if (!row.empty() && row[0].starts_with("GPU") && std::find(row.begin(), row.end(), "X") != row.end())
      rows.emplace_back(row.begin() + 1, row.end());
  for (auto& row : rows) row.resize(rows.size());
  return rows;
}

}  // namespace ddpsim::testing
