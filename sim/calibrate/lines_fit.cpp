#include "sim/calibrate/lines_fit.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/core.h>

#include "sim/base/check.hpp"
#include "sim/calibrate/lines_problem.hpp"
#include "sim/nccl/constants.hpp"
#include "sim/nccl/cost_model.hpp"
#include "sim/nccl/p2p.hpp"
#include "sim/nccl/times_from.hpp"

namespace ddpsim::calibrate {
namespace {

using nccl::Algorithm, nccl::PeerLines, nccl::Protocol, nccl::RingLines;
using Measurements = std::vector<const Measurement*>;

bool is_shared(std::string_view name) {
  return name != "ll_memory" && name != "simple_link" && name != "simple_memory";
}

// The parameters whose names begin so, as informed.
template <class Parameters>
void inform(std::vector<bool>& informed, const Parameters& parameters, std::string_view beginning) {
  for (std::size_t p = 0; p < parameters.size(); ++p)
    if (parameters[p].name.starts_with(beginning)) informed[p] = true;
}

// Rows that a ring or the switch carries.
void add_ring_rows(LinesProblem<RingLines>& problem, std::size_t operation, const Measurement& m) {
  const auto& c = m.communicator;
  nccl::Tuner tuner(c, m.allowed, m.collective);
  auto& informed = problem.informed[operation];
  for (const auto& point : points_of(m.table)) {
    const auto& pick = tuner.choose(point.bytes);
    if (pick.algorithm == Algorithm::nvls) {
      inform(informed, nccl::kRingParameters, "nvls_");
    } else if (pick.algorithm == Algorithm::ring) {
      auto protocol = pick.protocol;
      inform(informed, nccl::kRingParameters,
             protocol == Protocol::ll      ? "ll_"
             : protocol == Protocol::ll128 ? "ll128_"
                                           : "simple_");
      // Single rounds bind from Blackwell on.
      if (protocol == Protocol::simple && c.gpu >= nccl::Gpu::blackwell)
        inform(informed, nccl::kRingParameters, "round_");
    } else {
      continue;
    }
    problem.rows.push_back(
        {operation, point.measured, [&m, pick, bytes = point.bytes](const RingLines& lines) {
           return *nccl::line_time(lines, pick, m.communicator, m.collective.operation, bytes);
         }});
  }
}

void add_peer_rows(LinesProblem<PeerLines>& problem, const Measurement& m) {
  const auto& c = m.communicator;
  bool many =
      nccl::constants(c.version).p2p_low_latency == nccl::Constants::P2pLowLatency::of_channels_a_peer;
  auto& informed = problem.informed[0];
  for (const auto& point : points_of(m.table)) {
    nccl::LineMessage message{c.ranks, 0, point.bytes, c.nvlink_peak};
    bool is_ll = nccl::p2p_plan(c, std::max(Bytes(1), point.bytes / c.ranks)).protocol == Protocol::ll;
    for (std::size_t p = 0; p < informed.size(); ++p) {
      auto name = nccl::kPeerParameters.at(p).name;
      if (name.starts_with("ll_") == is_ll && (name != "ll_link" || many)) informed[p] = true;
    }
    problem.rows.push_back({0, point.measured, [=](const PeerLines& lines) {
                              return nccl::peer_line(lines, is_ll, many, message);
                            }});
  }
}

// Latencies that no row informed, as much longer as those of small messages are.
RingLines filled(RingLines lines, const RingLines& prior, const std::vector<bool>& informed) {
  double longer = std::sqrt(lines.ll_base / prior.ll_base * lines.ll_step / prior.ll_step);
  for (std::size_t p = 0; p < informed.size(); ++p) {
    const auto& parameter = nccl::kRingParameters.at(p);
    if (!informed[p] && parameter.is_latency)
      lines.*parameter.value = std::clamp(lines.*parameter.value * longer, parameter.least, parameter.most);
  }
  return lines;
}

// Of the rows of an operation, or of all where the parameter is shared: whether some row's time depends on
// it.
template <class Lines>
std::vector<bool> identified(const LinesProblem<Lines>& problem, const std::vector<Lines>& found,
                             std::size_t operation) {
  constexpr double kLeast = 0.1;  // percent of the time for a percent of the parameter
  std::vector<bool> result;
  for (std::size_t p = 0; p < problem.parameters.size(); ++p) {
    const auto& parameter = problem.parameters[p];
    bool is_shared = problem.is_shared(parameter.name);
    result.push_back(std::any_of(problem.rows.begin(), problem.rows.end(), [&](const LineRow<Lines>& row) {
      return (is_shared || row.operation == operation) &&
             nccl::elasticity(found[row.operation], parameter.value, row.time) >= kLeast;
    }));
  }
  return result;
}

// What the known lines were fitted to says on where these rows determine nothing.
void keep_known(const nccl::Calibration& known, nccl::Calibration::NodeEntry& entry) {
  const auto* before = known.in_node(entry.operation);
  if (!before) return;
  bool keeps = false;
  for (std::size_t p = 0; p < entry.identified.size(); ++p) {
    if (entry.identified[p] || (!before->identified.empty() && !before->identified[p])) continue;
    entry.identified[p] = keeps = true;
  }
  if (keeps) entry.fitted_to = before->fitted_to;
}

std::vector<Operation> operations_of(const Measurements& machine, bool peers) {
  std::vector<Operation> operations;
  for (const auto* m : machine)
    if (sends_directly(m->collective.operation) == peers) operations.push_back(m->collective.operation);
  std::sort(operations.begin(), operations.end());
  operations.erase(std::unique(operations.begin(), operations.end()), operations.end());
  return operations;
}

// Latencies of LL, the start of its slope: the sum has several minima in them.
const std::vector<std::vector<StartFactor>> kRingStarts{
    {}, {{"ll_rise", 2}, {"ll_slope", 1.2}}, {{"ll_rise", 0.4}, {"ll_slope", 0.85}}};

std::vector<FittedLines> fit_rings(const Measurements& machine, const nccl::Calibration& known) {
  auto operations = operations_of(machine, false);
  if (operations.empty()) return {};
  auto node_class = nccl::class_of(machine.front()->communicator);
  LinesProblem<RingLines> problem{nccl::kRingParameters, is_shared, {}, {}, {}};
  for (auto operation : operations) {
    problem.prior.push_back(nccl::node_lines(known, node_class, operation).ring);
    problem.informed.emplace_back(nccl::kRingParameters.size(), false);
    for (const auto* m : machine)
      if (m->collective.operation == operation) add_ring_rows(problem, problem.prior.size() - 1, *m);
  }
  if (problem.rows.empty())
    throw InputError(machine.front()->place(), "no row of this machine went over a ring or the switch",
                     "trees inside a node can be judged (--judge), not fitted");
  auto found = LinesSolver(problem).solve(kRingStarts);
  // What is shared is known of all operations once it is of one.
  for (std::size_t p = 0; p < nccl::kRingParameters.size(); ++p) {
    if (!is_shared(nccl::kRingParameters.at(p).name)) continue;
    bool any = std::any_of(problem.informed.begin(), problem.informed.end(),
                           [&](const auto& informed) { return informed[p]; });
    for (auto& informed : problem.informed) informed[p] = any;
  }
  std::vector<FittedLines> fitted;
  for (std::size_t o = 0; o < operations.size(); ++o) {
    auto& lines = fitted.emplace_back(FittedLines{
        {operations[o], filled(found[o], problem.prior[o], problem.informed[o])}, problem.informed[o]});
    lines.entry.identified = identified(problem, found, o);
    keep_known(known, lines.entry);
  }
  return fitted;
}

std::vector<FittedLines> fit_peers(const Measurements& machine, const nccl::Calibration& known) {
  auto operations = operations_of(machine, true);
  if (operations.empty()) return {};
  auto node_class = nccl::class_of(machine.front()->communicator);
  LinesProblem<PeerLines> problem{nccl::kPeerParameters, [](std::string_view) { return false; }, {}, {}, {}};
  auto measured_as = nccl::measured_as(operations.front());
  problem.prior.push_back(nccl::node_lines(known, node_class, measured_as).peers);
  problem.informed.emplace_back(nccl::kPeerParameters.size(), false);
  for (const auto* m : machine)
    if (sends_directly(m->collective.operation)) add_peer_rows(problem, *m);
  auto found = LinesSolver(problem).solve({{}});
  FittedLines lines{{measured_as, {}, found[0]}, problem.informed[0]};
  lines.entry.identified = identified(problem, found, 0);
  keep_known(known, lines.entry);
  return {lines};
}

template <class Lines, class Parameters>
void average(Lines nccl::Calibration::NodeEntry::*lines, const Parameters& parameters, FittedLines& mean,
             const std::vector<FittedLines>& machines) {
  for (std::size_t p = 0; p < parameters.size(); ++p) {
    auto value = parameters[p].value;
    auto is_informed = [p](const FittedLines& one) { return one.informed[p]; };
    bool any = std::any_of(machines.begin(), machines.end(), is_informed);
    double sum = 0, count = 0;
    for (const auto& one : machines) {
      if (any && !is_informed(one)) continue;
      sum += std::log(one.entry.*lines.*value);
      ++count;
    }
    mean.entry.*lines.*value = std::exp(sum / count);
    mean.informed[p] = any;
  }
}

}  // namespace

std::vector<Point> points_on_lines(const Measurement& m) {
  auto points = points_of(m.table);
  if (sends_directly(m.collective.operation)) return points;
  nccl::Tuner tuner(m.communicator, m.allowed, m.collective);
  std::erase_if(points, [&](const Point& point) {
    auto algorithm = tuner.choose(point.bytes).algorithm;
    return algorithm != Algorithm::ring && algorithm != Algorithm::nvls;
  });
  return points;
}

std::vector<FittedLines> fit_lines(const Measurements& machine, const nccl::Calibration& known) {
  auto fitted = fit_rings(machine, known);
  for (auto& peers : fit_peers(machine, known)) fitted.push_back(std::move(peers));
  return fitted;
}

FittedLines mean_of(const std::vector<FittedLines>& machines) {
  DDPSIM_CHECK(!machines.empty(), "a mean of something");
  auto mean = machines.front();
  for (const auto& one : machines)
    for (std::size_t p = 0; p < mean.entry.identified.size(); ++p)
      if (one.entry.identified[p]) mean.entry.identified[p] = true;
  if (sends_directly(mean.entry.operation))
    average(&nccl::Calibration::NodeEntry::peers, nccl::kPeerParameters, mean, machines);
  else
    average(&nccl::Calibration::NodeEntry::ring, nccl::kRingParameters, mean, machines);
  return mean;
}

}  // namespace ddpsim::calibrate
