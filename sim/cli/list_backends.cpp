#include "sim/cli/list_backends.hpp"

#include <set>

#include "validate/harness/real_operations.hpp"
#include <fmt/core.h>

#include "sim/cost/gloo_model.hpp"
#include "sim/mpi/decision.hpp"
#include "sim/nccl/calibration.hpp"

namespace ddpsim::cli {
namespace {

std::string plain_schedule(Operation operation) {
  if (sends_directly(operation)) return "direct sends";
  return is_chain(operation) ? "share of a ring" : "ring";
}

// Of curves that are fitted to tables of the operation itself, or of another one.
std::string by_nccl(Operation operation) {
  auto curves = nccl::measured_as(operation);
  auto like = curves == operation ? std::string() : fmt::format(", as {}", operation_words(curves));
  return fmt::format("{}{}", sends_directly(operation) ? "sends to peers" : "tuner", like);
}

std::string by_gloo(Operation operation) {
  return GlooModel::has_formula(operation) ? "formula" : "share of an all-reduce";
}

std::string by_mpi(Operation operation) {
  std::set<mpi::Algorithm> algorithms;
  for (const auto& rule : mpi::rules_of(operation)) algorithms.insert(rule.algorithm);
  if (algorithms.empty()) return "declared: a message";
  return fmt::format("declared: {} algorithms", algorithms.size());
}

struct OnDevices {
  std::string gpus, cpus;
};

OnDevices modelled(Backend backend, Operation operation) {
  switch (backend) {
    case Backend::nccl:
      return {by_nccl(operation), "-"};
    case Backend::gloo:
      return {by_gloo(operation) + ", by way of hosts", plain_schedule(operation)};
    case Backend::mpi:
      break;
  }
  auto rules = by_mpi(operation);
  return {reduces(operation) ? rules + ", on hosts" : rules, rules};
}

PresetFact fact(const char* key, const char* heading, const std::string& text) {
  return {key, heading, text == "-" ? Cell() : Cell(text), text};
}

}  // namespace

std::vector<PresetRow> backend_rows() {
  std::vector<PresetRow> rows;
  for (const auto& backend : kBackends)
    for (const auto& operation : kOperations) {
      auto [gpus, cpus] = modelled(backend.backend, operation.operation);
      bool is_real = validate::is_real(operation.operation) && !backend.runs_on.empty();
      rows.push_back({fact("backend", "backend", std::string(backend.name)),
                      fact("operation", "operation", std::string(operation.name)),
                      fact("gpu", "times on GPUs", gpus), fact("cpu", "times on CPUs", cpus),
                      fact("real", "real runs", is_real ? fmt::format("{}s", backend.runs_on) : "-")});
    }
  return rows;
}

}  // namespace ddpsim::cli
