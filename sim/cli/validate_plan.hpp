#pragma once
// A scenario as it is run for real: its ranks, and collectives whose times come from a table.
#include <string>

#include "validate/harness/step.hpp"

#include "sim/cli/validate.hpp"
#include "sim/engine/messages.hpp"
#include "sim/study/sweep_points.hpp"

namespace ddpsim::cli {

class RealScenario {
 public:
  // Throws InputError for a scenario that no real run can do.
  explicit RealScenario(const ValidateOptions& options);

  [[nodiscard]] int world_size() const { return world_size_; }
  // The points with placeholder times: their buckets are real.
  [[nodiscard]] const SweepPlan& points() const { return points_; }
  [[nodiscard]] const Scenario& first() const { return points_.scenarios.front(); }
  // What all points communicate.
  [[nodiscard]] std::vector<Message> messages() const;
  // The same points with the times of a table of collectives, and with another recording of the same model
  // where one is named.
  [[nodiscard]] SweepPlan with_table(const std::string& path, const std::string& trace = {}) const;
  // "ddp.bucket_cap = 25MiB".
  [[nodiscard]] std::string name_of(std::size_t point) const;
  [[nodiscard]] validate::Job job(std::vector<validate::Step> steps) const;
  // With one collective at a time, whatever the scenario says: what each takes by itself.
  [[nodiscard]] validate::Job calibration_job(std::vector<validate::Step> steps) const;

 private:
  std::string file_;
  config::Value root_;
  int world_size_ = 0;
  double timeout_;
  std::optional<validate::TrainedModel> model_;  // compute: model
  SweepPlan points_;
};

}  // namespace ddpsim::cli
