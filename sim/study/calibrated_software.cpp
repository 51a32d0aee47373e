#include "sim/study/calibrated_software.hpp"

#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/quantity.hpp"
#include "sim/base/source.hpp"
#include "sim/text/software_file.hpp"

namespace ddpsim {
namespace {

// "llama-2-7b on 64 GPUs, micro batch 4, sequence 4096"
std::string phrase_of(const Scenario& scenario) {
  if (scenario.recorded)
    return fmt::format("{}, recorded, on {} GPUs", fmt::join(scenario.recorded->first().script, " "),
                       scenario.world_size);
  const auto& [model, step, software, gpu, state, work] = *scenario.model_step;
  return fmt::format("{} on {} GPUs, micro batch {}, sequence {}", model.name, scenario.world_size,
                     step.shape.micro_batch, step.shape.sequence);
}

// What its GPU is called in the file: like the shares that it had, if they are of such a GPU.
std::string gpu_word(const Software& software, const GpuDescription& gpu) {
  return software.is_for_gpu && !software.fitted_on.empty() ? software.fitted_on : gpu.name;
}

}  // namespace

std::string_view name_of_share(const std::optional<FittedShare>& share) {
  return share ? name_in(kFittedShareNames, *share) : "compute";
}

std::string fitted_value(const Software& software, std::optional<FittedShare> share, Precision precision) {
  if (share == FittedShare::host) return format_seconds(software.host);
  return fmt::format(
      "{:.4f}", share == FittedShare::attention ? software.attention : products_share(software, precision));
}

CalibratedSoftware calibrated_software(const Scenario& scenario, const std::string& name,
                                       const SoftwareQuestion& question) {
  if (!scenario.is_timed_by_law())
    throw InputError(
        fmt::format("{}: only a transformer's step, or a recorded script's, calibrates a software", name),
        "name one: workload.model: llama-2-7b; a recorded trace has its times already");
  const auto& [measured, source, share, accepts_all] = question;
  const auto& before = scenario.software();
  auto job = fmt::format("{}: {}", name, phrase_of(scenario));
  auto fit = fit_step(scenario, {measured, job, share, accepts_all});
  if (!before.name.ends_with(kCalibrated)) fit.software.name = before.name + std::string(kCalibrated);
  auto comment =
      fmt::format("{} from one step of {}{}: {}; {} before.\nThe rest as in {}.", name_of_share(fit.share),
                  format_seconds(measured), source.empty() ? "" : ", " + source, job,
                  fitted_value(before, fit.share, scenario.precision()), before.name);
  auto text = write_software(fit.software, gpu_word(before, scenario.gpu_of_law()), comment, fit.measured);
  return {std::move(fit), std::move(text)};
}

}  // namespace ddpsim
