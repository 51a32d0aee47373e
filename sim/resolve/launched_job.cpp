#include "sim/resolve/launched_job.hpp"

#include <optional>

#include "sim/config/overrides.hpp"
#include "sim/resolve/workload_model.hpp"

namespace ddpsim {

Launched apply_to_job(config::Value& root, const LaunchFile& file, bool sweeps, const std::string& scenario) {
  auto hidden = [&]() -> std::optional<std::int64_t> {
    const auto* model = config::find_at(root, "workload.model");
    if (!model || model->kind == config::Value::Kind::null) return std::nullopt;
    Files files(scenario);
    auto found = described_model(*model, files).transformer;
    return found ? std::optional(found->hidden) : std::nullopt;
  };
  return apply_launch_file(root, file, sweeps, hidden);
}

}  // namespace ddpsim
