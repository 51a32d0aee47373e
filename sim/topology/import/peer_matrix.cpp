#include "sim/topology/import/peer_matrix.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include <fmt/core.h>

#include "sim/base/counted.hpp"
#include "sim/base/input_file.hpp"
#include "sim/topology/import/text_line.hpp"

namespace ddpsim {
namespace {

// Of the legend below the matrix; X is a GPU itself.
constexpr std::array<std::string_view, 6> kWithout{"CNS", "GNS", "TNS", "NS", "DR", "U"};
constexpr const char* kCommand = "save what 'nvidia-smi topo -p2p r' prints";

bool is_row(const std::vector<Located>& words) {
  return words.size() > 1 && words[0].text.starts_with("GPU") && !words[1].text.starts_with("GPU");
}

bool is_peer(const Located& cell) {
  if (cell.text == "OK") return true;
  if (std::ranges::find(kWithout, cell.text) == kWithout.end())
    throw InputError(cell.span, fmt::format("'{}' is no status of peer-to-peer", cell.text),
                     "OK, CNS, GNS, TNS, NS, DR or U: save what 'nvidia-smi topo -p2p r' prints");
  return false;
}

}  // namespace

bool reads_peers(const std::string& path, std::size_t gpus) {
  auto source = load_text(path, "the output of nvidia-smi topo -p2p r", std::size_t{1} << 20).source;
  std::optional<bool> all;
  std::size_t rows = 0;
  for (std::size_t i = 0; i < source->lines.size(); ++i) {
    TextLine line(source, i);
    auto words = line.words();
    if (!is_row(words)) continue;
    if (words.size() != gpus + 1)
      throw InputError(
          words[0].span,
          fmt::format("a row of {}, and the node has {}", counted(static_cast<int>(words.size()) - 1, "cell"),
                      counted(static_cast<int>(gpus), "GPU")),
          "both are of one machine: is the line cut off?");
    for (std::size_t column = 1; column <= gpus; ++column) {
      if (column == rows + 1 && words[column].text == "X") continue;
      bool here = is_peer(words[column]);
      if (all.value_or(here) != here)
        throw InputError(words[column].span, "some pairs of GPUs have peer-to-peer, and others have not",
                         "describe it by hand: peer_to_peer: PIX, PXB or PHB is up to where they have it");
      all = here;
    }
    ++rows;
  }
  if (rows != gpus)
    throw InputError(
        whole_file(source),
        fmt::format("{} of GPUs, and the node has {}", counted(static_cast<int>(rows), "row"), gpus),
        kCommand);
  return all.value_or(true);
}

}  // namespace ddpsim
