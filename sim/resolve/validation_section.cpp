#include "sim/resolve/sections.hpp"

namespace ddpsim {

ValidationSettings validation_settings(const Files& files, const GivenJob& given) {
  const auto& section = given.job.validation;
  ValidationSettings settings;
  settings.backend = section.backend;
  settings.compute = section.compute;
  if (section.testbed) {
    settings.testbed_rate = section.testbed->rate;
    settings.testbed_delay = section.testbed->delay;
  }
  if (section.measured)
    settings.measured = files.path_of(given.located(*section.measured, "validation.measured"));
  settings.iteration_error = section.thresholds.iteration_error;
  settings.regret = section.thresholds.regret;
  return settings;
}

}  // namespace ddpsim
