#include "sim/text/misplaced_keys.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string_view>

#include <fmt/format.h>

#include "sim/text/scenario_keys.hpp"
#include "sim/text/sections.hpp"

namespace ddpsim {
namespace {

// What other programs and people call a key.
constexpr std::array<std::pair<std::string_view, std::string_view>, 18> kOtherNames{
    {{"seq_len", "workload.sequence"},
     {"seqlen", "workload.sequence"},
     {"seq_length", "workload.sequence"},
     {"sequence_length", "workload.sequence"},
     {"batch_size", "workload.micro_batch"},
     {"micro_batch_size", "workload.micro_batch"},
     {"mbs", "workload.micro_batch"},
     {"batch", "workload.micro_batch"},
     {"global_batch", "batch.global"},
     {"global_batch_size", "batch.global"},
     {"gpus", "cluster.world_size"},
     {"num_gpus", "cluster.world_size"},
     {"n_gpus", "cluster.world_size"},
     {"bucket_cap_mb", "ddp.bucket_cap"},
     {"bucket_size_mb", "ddp.bucket_cap"},
     {"gradient_accumulation_steps", "ddp.accumulation_steps"},
     {"precision", "workload.dtype"},
     {"activation_checkpointing", "workload.recompute"}}};

struct Known {
  std::set<std::string> paths, sections;
  std::multimap<std::string, std::string> by_name;  // "bucket_cap": "ddp.bucket_cap"
};

// Keys of the scenario and of its sections; what is deeper, the sections' readers know.
const Known& known() {
  static const Known all = [] {
    Known result;
    for (const auto& key : scenario_keys()) {
      auto dot = key.path.find('.');
      if (dot == std::string::npos) result.sections.insert(key.path);
      if (key.path.find('[') != std::string::npos || key.path.find('.', dot + 1) != std::string::npos)
        continue;
      result.paths.insert(key.path);
      bool of_strategy =
          std::count(kStrategySections.begin(), kStrategySections.end(), key.path.substr(0, dot)) > 0;
      if (dot != std::string::npos && !of_strategy)
        result.by_name.emplace(key.path.substr(dot + 1), key.path);
    }
    return result;
  }();
  return all;
}

void check(const std::string& section, const config::Entry& entry) {
  if (known().paths.contains(section.empty() ? entry.key : section + "." + entry.key)) return;
  std::string meant;
  for (const auto& [other, path] : kOtherNames)
    if (other == entry.key) meant = path;
  // A key of several sections says nothing of which, and strategies have names of their own for the same.
  if (meant.empty() && known().by_name.count(entry.key) == 1) meant = known().by_name.find(entry.key)->second;
  if (meant.empty()) return;
  auto message = fmt::format("unknown key '{}'; did you mean '{}'?", entry.key, meant);
  if (meant.starts_with(section + "."))
    throw InputError(entry.key_span, message,
                     fmt::format("'{}' calls it '{}'", section, meant.substr(section.size() + 1)));
  throw InputError(entry.key_span, message,
                   fmt::format("'{}' goes into the section '{}'; on the command line --set {}=...",
                               meant.substr(meant.find('.') + 1), meant.substr(0, meant.find('.')), meant));
}

}  // namespace

void check_misplaced_keys(const config::Value& root) {
  if (root.kind != config::Value::Kind::map) return;
  for (const auto& entry : root.entries) {
    check("", entry);
    if (!known().sections.contains(entry.key) || entry.value.kind != config::Value::Kind::map) continue;
    for (const auto& below : entry.value.entries) check(entry.key, below);
  }
}

}  // namespace ddpsim
