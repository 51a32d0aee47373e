#pragma once
// AMD's GPUs: one row an architecture of what is known of its links, one row a board that has a file in
// gpus/.
#include <array>
#include <optional>
#include <string_view>

#include "sim/base/units.hpp"

namespace ddpsim {

struct AmdArchitecture {
  std::string_view name;
  std::string_view gfx;   // what RCCL's XML says in `gcn`, or its beginning
  std::string_view code;  // the number that older files have there
  BytesPerSecond xgmi;    // per link and direction
  double counted;         // GB/s that RCCL's own search counts for such a link; 0: not known
  int pcie_generation;
  std::string_view source;  // of `xgmi`
};
// A link is 16 lanes, two bytes a transfer. `counted`: RCCL's src/graph/topo.h, VEGA_XGMI_WIDTH,
// MI200_XGMI_WIDTH and GFX94X_XGMI_WIDTH as of October 2024, which knows no CDNA 4.
inline constexpr std::array kAmdArchitectures{
    AmdArchitecture{"cdna", "gfx908", "908", BytesPerSecond(46e9), 24, 4,
                    "23 GT/s x16, AMD's documentation of the MI100's architecture"},
    AmdArchitecture{"cdna2", "gfx90a", "910", BytesPerSecond(50e9), 36, 4,
                    "25 GT/s x16, AMD's documentation of the MI250's architecture"},
    AmdArchitecture{"cdna3", "gfx94", "94", BytesPerSecond(64e9), 48, 5,
                    "32 GT/s x16, 128 GB/s both ways in AMD's data sheet of the MI300X"},
    AmdArchitecture{"cdna4", "gfx950", "950", BytesPerSecond(76.8e9), 0, 5,
                    "38.4 GT/s x16, 153.6 GB/s both ways in AMD's data sheet of the MI355X"}};

struct AmdBoard {
  std::string_view name;  // of its file in gpus/
  std::size_t architecture;
  int compute_units;                        // of what RCCL and PyTorch count as one GPU
  std::array<std::string_view, 2> devices;  // PCI device ids: of the board and of its virtual function
};
// Of an MI250X each of the two dies is a GPU; its ids are the MI250's too, whose dies have 104 compute units.
inline constexpr std::array kAmdBoards{
    AmdBoard{"mi250x", 1, 110, {"0x7408", "0x740c"}}, AmdBoard{"mi300x", 2, 304, {"0x74a1", "0x74b5"}},
    AmdBoard{"mi325x", 2, 304, {"0x74a5", "0x74b9"}}, AmdBoard{"mi355x", 3, 256, {"0x75a3", "0x75b3"}}};

// As far as it is known which GPU it is.
struct AmdGpu {
  const AmdArchitecture* architecture = nullptr;
  const AmdBoard* board = nullptr;  // nullptr: one without a file in gpus/, or nobody says which
};

constexpr const AmdArchitecture& architecture_of(const AmdBoard& board) {
  return kAmdArchitectures.at(board.architecture);
}
constexpr std::array<std::string_view, kAmdArchitectures.size()> amd_architecture_names() {
  std::array<std::string_view, kAmdArchitectures.size()> names;
  for (std::size_t i = 0; i < names.size(); ++i) names.at(i) = kAmdArchitectures.at(i).name;
  return names;
}
constexpr const AmdArchitecture* amd_architecture(std::string_view name) {
  for (const auto& architecture : kAmdArchitectures)
    if (architecture.name == name) return &architecture;
  return nullptr;
}
// "gfx942", or what older files say: "942". nullptr for one that is not known.
constexpr const AmdArchitecture* amd_architecture_of_gcn(std::string_view gcn) {
  for (const auto& architecture : kAmdArchitectures)
    if (gcn.starts_with(architecture.gfx) || gcn.starts_with(architecture.code)) return &architecture;
  return nullptr;
}

}  // namespace ddpsim
