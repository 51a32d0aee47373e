#pragma once
// What collectives cost, as a table, JSON or CSV (docs/reference/measured.md, "What collectives cost").
#include <optional>
#include <string>
#include <vector>

#include "sim/base/note.hpp"
#include "sim/base/units.hpp"
#include "sim/report/shown_table.hpp"

namespace ddpsim {

// What NCCL would do by itself, where something is forced on it.
struct UnforcedCost {
  std::string algorithm, protocol;
  std::optional<Seconds> time;
};

struct CollectiveCostRow {
  std::string operation;  // "all_gather"
  Bytes bytes;
  std::string algorithm, protocol;  // "ring", "ll128" or none
  int channels = 1;
  std::optional<Seconds> time;
  std::string why_not;  // without a time
  double busbw_factor = 1;
  std::string source;  // "calibrated", "class", "links", "tuner"
  std::string note;    // the same in words, perhaps none
  std::optional<UnforcedCost> unforced = {};

  [[nodiscard]] BytesPerSecond algbw() const { return bytes / *time; }
  [[nodiscard]] BytesPerSecond busbw() const { return algbw() * busbw_factor; }
};

// Whose costs they are.
struct CollectiveCostsOf {
  std::string topology;
  int world_size = 0;
  std::string nccl_version;  // none of plain schedules
  std::vector<Note> notes;
};

// "nvls/simple, 1.2 ms", or "the same".
std::string unforced_text(const UnforcedCost& unforced, std::string_view algorithm,
                          std::string_view protocol);

ShownTable collective_costs_table(const std::vector<CollectiveCostRow>& rows);
std::string collective_costs_json(const CollectiveCostsOf& whose, const std::vector<CollectiveCostRow>& rows);
std::string collective_costs_csv(const std::vector<CollectiveCostRow>& rows);

}  // namespace ddpsim
