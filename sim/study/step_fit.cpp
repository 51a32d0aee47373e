#include "sim/study/step_fit.hpp"

#include <cmath>

#include <fmt/core.h>

#include "sim/base/quantity.hpp"
#include "sim/study/run_all.hpp"
#include "sim/study/scenario_metrics.hpp"

namespace ddpsim {
namespace {

constexpr double kLeastOwnShare = 0.25, kMostOfOthers = 0.40;
constexpr double kLeastEffect = 0.05;
// Of the data sheet's peak: boost clocks beat the one it counts with by less (1.98 and 1.83 GHz on an H100
// SXM).
constexpr double kMostShare = 1.1;
constexpr int kHalvings = 60;

double& number_of(Software& software, FittedShare share, Precision precision, double& host_seconds) {
  if (share == FittedShare::gemm) return products_share(software, precision);
  return share == FittedShare::attention ? software.attention : host_seconds;
}

Software with(Software software, FittedShare share, Precision precision, double value) {
  double host = software.host.value();
  number_of(software, share, precision, host) = value;
  software.host = Seconds(host);
  return software;
}

double value_of(Software software, FittedShare share, Precision precision) {
  double host = software.host.value();
  return number_of(software, share, precision, host);
}

// Where a share is looked for. The iteration falls with it, and grows with the host's pace.
struct Search {
  double low, high;
  bool grows = false;
};

Search search_of(FittedShare share) {
  if (share == FittedShare::host) return {1e-9, 1e-3, true};
  return {share == FittedShare::gemm ? 0.1 : 0.02, kMostShare};
}

Seconds iteration_of(Scenario& scenario, const Software& software) {
  set_software(scenario, software);
  Seconds iteration;
  run_all({&scenario, 1}, 1, [&](std::size_t, const Prediction& prediction) {
    iteration = metrics_of(scenario, prediction).iteration;
  });
  return iteration;
}

void check_identified(const ModelStep& step, FittedShare share) {
  auto shares = step_shares(step);
  auto percent = [](double part) { return fmt::format("{:.0f} %", 100 * part); };
  auto refuse = [&](const std::string& why, const std::string& hint) {
    throw InputError(
        fmt::format("this step does not identify {}: {}", name_in(kFittedShareNames, share), why), hint);
  };
  if (share == FittedShare::gemm) {
    if (shares.host > kMostOfOthers)
      refuse(fmt::format("launches are {} of its compute", percent(shares.host)),
             "measure a larger micro batch or model, or fit host to this one");
    if (shares.attention > kMostOfOthers)
      refuse(fmt::format("attention is {} of its compute", percent(shares.attention)),
             "measure a shorter sequence, or fit attention to this one");
    return;
  }
  double own = share == FittedShare::attention ? shares.attention : shares.host;
  if (own < kLeastOwnShare)
    refuse(fmt::format("it is {} of its compute", percent(own)),
           share == FittedShare::attention ? "measure a longer sequence"
                                           : "measure a micro batch of 1, or a smaller model");
}

}  // namespace

StepShares step_shares(const ModelStep& step) {
  auto compute = [&step](const Software& software) {
    return TransformerTimes(step.model, step.gpu, software, step.step.precision, step.step.shape)
        .micro_batch();
  };
  auto now = compute(step.software);
  auto gone = [&](FittedShare share, double value) {
    return 1 - compute(with(step.software, share, step.step.precision, value)) / now;
  };
  StepShares shares{gone(FittedShare::gemm, 1e9), 0, gone(FittedShare::host, 0)};
  if (step.software.flash) shares.attention = gone(FittedShare::attention, 1e9);
  return shares;
}

Software fit_step(Scenario scenario, Seconds measured, FittedShare share) {
  const auto start = scenario.model_step->software;
  const auto precision = scenario.model_step->step.precision;
  if (share == FittedShare::attention && !start.flash)
    throw InputError("unfused attention has no share of its own: its products are gemm's", "fit gemm");
  // What one GPU has of a model that several share.
  check_identified(scenario.parallel ? split_step(*scenario.model_step, scenario.parallel->options.degrees)
                                     : *scenario.model_step,
                   share);
  auto [low, high, grows] = search_of(share);
  auto at = [&](double value) { return iteration_of(scenario, with(start, share, precision, value)); };
  double now = value_of(start, share, precision);
  double moved = std::abs(at(now / 2) / at(now) - 1);
  if (moved < kLeastEffect)
    throw InputError(
        fmt::format("this step does not identify {}: half of it changes the iteration by {:.1f} %",
                    name_in(kFittedShareNames, share), 100 * moved),
        "measure a step that communication or other work does not set");
  auto range = [grows = grows](double value) {
    return grows ? format_seconds(Seconds(value)) : fmt::format("{} of the peak", value);
  };
  auto fastest = at(grows ? low : high), slowest = at(grows ? high : low);
  if (measured < fastest || measured > slowest)
    throw InputError(
        fmt::format("no {} from {} to {} gives {}: the scenario takes {} to {}",
                    name_in(kFittedShareNames, share), range(low), range(high), format_seconds(measured),
                    format_seconds(fastest), format_seconds(slowest)),
        "is the time that of one optimizer step of this scenario, with its micro batch, accumulation and "
        "GPUs?");
  for (int i = 0; i < kHalvings; ++i) {
    double middle = std::sqrt(low * high);
    bool too_slow = at(middle) > measured;
    (too_slow == grows ? high : low) = middle;
  }
  auto fitted = with(start, share, precision, std::sqrt(low * high));
  fitted.judged_error.reset();
  fitted.scope = {scenario.world_size, scenario.parallel ? scenario.parallel->options.degrees.tensor : 1};
  fitted.types = {scenario.model_step->step.precision};
  return fitted;
}

}  // namespace ddpsim
