#include "sim/study/refuted.hpp"

#include <algorithm>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/quantity.hpp"

namespace ddpsim {

const Doubt* compute_doubt(const Scenario& scenario) {
  auto found =
      std::ranges::find(scenario.doubts, Subject::compute, [](const Doubt& doubt) { return doubt.of->of; });
  return found == scenario.doubts.end() ? nullptr : &*found;
}

InputError refuted(const Scenario& scenario, Seconds measured, std::vector<Seconds> draws) {
  std::ranges::sort(draws);
  std::vector<std::string> known;
  for (const auto& doubt : scenario.doubts)
    if (scenario.evidence->find(*doubt.of) && doubt.of->of != Subject::physics) known.push_back(doubt.what);
  std::string other;
  if (const auto* compute = compute_doubt(scenario); compute && compute->of->name.starts_with("named"))
    other = "if it was other code, leave workload.framework out; ";
  return InputError(
      fmt::format("what is described is not what was measured: {} was measured, and with all that is held "
                  "possible of it ({}) the scenario takes {} to {}",
                  format_seconds(measured), fmt::join(known, "; "), format_seconds(draws.front()),
                  format_seconds(draws.back())),
      "is the time that of one optimizer step of this scenario, with its micro batch, accumulation and "
      "GPUs? " +
          other + "--accept takes it all the same");
}

}  // namespace ddpsim
