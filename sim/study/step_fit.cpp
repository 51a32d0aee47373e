#include "sim/study/step_fit.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include <fmt/format.h>

#include "sim/base/quantity.hpp"
#include "sim/engine/knobs.hpp"
#include "sim/evidence/conditioning.hpp"
#include "sim/study/refuted.hpp"
#include "sim/study/run_all.hpp"
#include "sim/study/scenario_metrics.hpp"
#include "sim/study/uncertainty.hpp"

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

void check_identified(const StepShares& shares, FittedShare share) {
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

template <class Compute>
StepShares shares_by(const Software& software, Precision precision, Compute compute) {
  auto now = compute(software);
  auto gone = [&](FittedShare share, double value) {
    return 1 - compute(with(software, share, precision, value)) / now;
  };
  StepShares shares{gone(FittedShare::gemm, 1e9), 0, gone(FittedShare::host, 0)};
  if (software.flash) shares.attention = gone(FittedShare::attention, 1e9);
  return shares;
}

// The share that most of a step's compute hangs on.
FittedShare main_share(const StepShares& shares) {
  if (shares.host > kMostOfOthers) return FittedShare::host;
  return shares.attention > kMostOfOthers ? FittedShare::attention : FittedShare::gemm;
}

// Of what one GPU has of a model that several share.
StepShares shares_of(const Scenario& scenario) {
  if (scenario.recorded) return step_shares(*scenario.recorded);
  return step_shares(scenario.parallel ? split_step(*scenario.model_step, scenario.parallel->options.degrees)
                                       : *scenario.model_step);
}

// With that share the scenario takes `measured`.
Software exact_software(Scenario scenario, Seconds measured, FittedShare share) {
  const auto start = scenario.software();
  const auto precision = scenario.precision();
  if (share == FittedShare::attention && !start.flash)
    throw InputError("unfused attention has no share of its own: its products are gemm's", "fit gemm");
  check_identified(shares_of(scenario), share);
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
  return with(start, share, precision, std::sqrt(low * high));
}

double deviation(std::span<const double> logs, const Weights& weights) {
  double total = 0, sum = 0, squares = 0;
  for (std::size_t i = 0; i < logs.size(); ++i) {
    double weight = weights.empty() ? 1 : weights[i];
    total += weight;
    sum += weight * logs[i];
    squares += weight * logs[i] * logs[i];
  }
  return std::sqrt(std::max(0.0, squares / total - sum / total * (sum / total)));
}

// What the draws of one factor become by the step: their middle, and whether it says more than was known.
struct Told {
  double middle = 1;
  bool is_told = false;
};
Told told_of(const Evidence& evidence, const EvidenceClass& of, const Weights& weights) {
  constexpr double kLeastNarrowing = 0.7;
  const auto& values = values_of(unknown_of(of, *evidence.find(of)), kDrawsToWeigh);
  std::vector<double> logs;
  std::vector<Seconds> as_times;  // for the quantile
  for (double value : values) {
    logs.push_back(std::log(value));
    as_times.emplace_back(value);
  }
  double middle = quantile_of(as_times, 0.5, weights).value(), before = deviation(logs, {});
  bool is_far = std::abs(std::log(middle / quantile_of(as_times, 0.5).value())) > before;
  return {middle, is_far || deviation(logs, weights) < kLeastNarrowing * before};
}

// Those of its collectives, by axis, of networks that a step told of.
using Networks = std::vector<const Doubt*>;
void slow(Scenario& scenario, const Networks& networks, double factor) {
  Knobs knobs;
  for (const auto* doubt : networks)
    for (const auto& axis : doubt->axes) knobs.slower[axis] = factor;
  turn(scenario, knobs);
}

// What the step tells of networks, which the scenario takes over.
Networks take_networks(Scenario& scenario, const Weights& weights, Evidence& evidence) {
  Networks networks;
  const auto before = evidence;
  for (const auto& doubt : scenario.doubts) {
    if (doubt.of->moves != Moves::collectives || !before.find(*doubt.of)) continue;
    auto told = told_of(before, *doubt.of, weights);
    if (!told.is_told) continue;
    auto now = before.found.find(name_of(*doubt.of));
    slow(scenario, {&doubt}, told.middle / (now == before.found.end() ? 1 : now->second));
    evidence.set_found(*doubt.of, told.middle);
    networks.push_back(&doubt);
  }
  return networks;
}

// Middles of each do not make a step exact, and what is known least takes the rest.
void make_exact(Scenario& scenario, Seconds measured, const Networks& networks, Evidence& evidence) {
  double low = 0.2, high = 5;
  auto iteration = [&](double factor) {
    auto with = scenario;
    slow(with, networks, factor);
    return iteration_of(with, with.software());
  };
  if (iteration(low) > measured || iteration(high) < measured) return;
  for (int i = 0; i < kHalvings; ++i) {
    double middle = std::sqrt(low * high);
    (iteration(middle) > measured ? high : low) = middle;
  }
  slow(scenario, networks, low);
  for (const auto* doubt : networks)
    evidence.set_found(*doubt->of, low * evidence.found.find(name_of(*doubt->of))->second);
}

// Of what all compute takes so much longer now.
void shift(Observation& measured, const std::string& compute, double slower) {
  auto curve = measured.response.curves.find(compute);
  if (curve == measured.response.curves.end()) return;
  for (auto& point : curve->second.points) point.value /= slower;
}

// As what it is of, and where it was fitted.
void sign(const Scenario& scenario, Software& software) {
  software.judged_error.reset();
  software.scope = {scenario.world_size, scenario.parallel ? scenario.parallel->options.degrees.tensor : 1};
  software.types = {scenario.precision()};
}

}  // namespace

StepShares step_shares(const ModelStep& step) {
  return shares_by(step.software, step.step.precision, [&step](const Software& software) {
    return TransformerTimes(step.model, step.gpu, software, step.step.precision, step.step.shape)
        .micro_batch();
  });
}

StepShares step_shares(const RecordedWork& work) {
  return shares_by(work.software, work.precision,
                   [with = RecordedWork(work)](const Software& software) mutable {
                     with.software = software;
                     Seconds all;
                     for (const auto& step : timed(with))
                       for (auto time : step->times) all += time;
                     return all;
                   });
}

StepFit fit_step(Scenario scenario, const StepQuestion& question) {
  StepFit fit;
  auto evidence = scenario.evidence ? *scenario.evidence : Evidence();
  std::erase_if(evidence.measured, [&](const Observation& one) { return one.of == question.job; });
  const auto* compute = compute_doubt(scenario);
  bool is_first = evidence.calibrated.empty();
  if (!is_first && question.share)
    throw InputError("this software is calibrated to a step, and another one moves all of its compute",
                     "leave --fit out, or calibrate the software that it was before");
  double slower = 1;  // all of compute, by the middle of the draws
  Networks networks;
  auto response =
      scenario.evidence && compute && evidence.find(*compute->of) ? response_of(scenario) : std::nullopt;
  double row = response ? evidence.calibrated_row(*compute->of) : 0;
  if (response) {
    auto draws = draws_of(*response, evidence, kDrawsToWeigh);
    auto weights = condition(draws, question.measured, row, *weights_of(evidence, kDrawsToWeigh));
    if (!weights && !question.accepts_all) throw refuted(scenario, question.measured, std::move(draws));
    if (!weights) response.reset();
    if (weights) {
      slower = told_of(evidence, *compute->of, *weights).middle;
      networks = take_networks(scenario, *weights, evidence);
    }
  }
  fit.software = slowed(scenario.software(), {.compute = slower});
  bool takes_share = question.share || networks.empty();
  if (takes_share && (is_first || !response)) {
    try {
      auto share = question.share.value_or(main_share(shares_of(scenario)));
      fit.software = exact_software(scenario, question.measured, share);
      fit.share = share;
    } catch (const InputError&) {
      if (question.share || !response) throw;
    }
  }
  sign(scenario, fit.software);
  if (!response) {
    fit.predicted = iteration_of(scenario, fit.software);
    if (!is_first) fit.measured = std::move(evidence);
    return fit;
  }
  for (auto& one : evidence.measured) shift(one, name_of(*compute->of), slower);
  set_software(scenario, fit.software);
  if (is_first && !takes_share) make_exact(scenario, question.measured, networks, evidence);
  scenario.evidence = std::make_shared<const Evidence>(evidence);
  evidence.calibrated = compute->of->name;
  evidence.measured.push_back({question.job, question.measured, row, *response_of(scenario)});
  fit.predicted = evidence.measured.back().response.base;
  fit.measured = std::move(evidence);
  return fit;
}

}  // namespace ddpsim
