#include "sim/study/plan_split.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/config/overrides.hpp"

namespace ddpsim {

using config::Value;

namespace {

// The sections that say how GPUs share a model are for those splits that do.
void drop_unused(Value& root, const PlanSettings& settings) {
  std::erase_if(root.entries, [&](const config::Entry& entry) {
    if (entry.key != "tensor" && entry.key != "context" && entry.key != "pipeline" && entry.key != "expert")
      return false;
    auto degree = setting(settings, "parallelism." + entry.key);
    return degree.empty() || degree == "1";
  });
}

}  // namespace

PlanSettings settings_of(const PlanSplit& split) {
  PlanSettings settings;
  auto set = [&](const char* key, std::int64_t degree) {
    settings.emplace_back(key, fmt::format("{}", degree));
  };
  if (split.is_shared()) {
    set("parallelism.tensor", split.tensor);
    set("parallelism.pipeline", split.pipeline);
  }
  if (split.context > 1) set("parallelism.context", split.context);
  if (split.expert > 1) set("parallelism.expert", split.expert);
  if (split.tensor > 1) settings.emplace_back("parallelism.sequence", "true");
  return settings;
}

Value with_settings(const Value& root, const PlanSettings& settings) {
  auto changed = root;
  for (const auto& [key, text] : settings)
    config::apply_override(changed, fmt::format("{}={}", key, text),
                           key == "strategy" ? "--strategy" : "plan");
  drop_unused(changed, settings);
  return changed;
}

std::string uneven_layers(std::int64_t layers, std::int64_t stages) {
  std::vector<std::int64_t> each(static_cast<std::size_t>(stages), layers / stages);
  for (std::int64_t left = layers % stages, i = 1; left > 0; --left, ++i) ++each[static_cast<std::size_t>(i)];
  return fmt::format("[{}]", fmt::join(each, ","));
}

std::string passes_of(const PlanSettings& settings) {
  std::string text;
  for (const auto& [key, value] : settings)
    if (key != "strategy") text += fmt::format("{}={} ", key, value);
  return text;
}

}  // namespace ddpsim
