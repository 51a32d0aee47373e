#pragma once
// A scenario with something changed, simulated again.
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sim/config/overrides.hpp"
#include "sim/resolve/resolve.hpp"
#include "sim/result/metrics.hpp"
#include "sim/topology/scaled_links.hpp"

namespace ddpsim {

// In the words of --set, of what was read, or of all links.
struct Change {
  std::string name;
  std::vector<std::string> overrides = {};
  std::function<void(Scenario&)> then = nullptr;
  LinkScale links = {};
};

// A change that a scenario cannot take.
struct LeftOut {
  std::string name, why;
};

// To each strategy but the scenario's for which it is so.
void add_strategies(const Scenario& scenario, std::vector<Change>& changes,
                    const std::function<bool(const StrategyTraits&)>& is);

class WhatIf {
 public:
  // `root` is the scenario without its sweep section, `path` its file.
  WhatIf(const std::string& path, config::Value root) : path_(path), root_(std::move(root)), files_(path) {}

  // Throws InputError where the scenario cannot be changed that way.
  [[nodiscard]] IterationMetrics simulate(const Change& change);
  [[nodiscard]] Scenario scenario() { return resolve(files_, root_); }
  [[nodiscard]] Scenario scenario(const Change& change);
  [[nodiscard]] const config::Value& root() const { return root_; }
  [[nodiscard]] GivenJob given() const { return read_job(root_); }
  // The value of a key in the file; null: it is not there.
  [[nodiscard]] const config::Value* find(std::string_view path) const {
    return config::find_at(root_, path);
  }

 private:
  std::string path_;
  config::Value root_;
  Files files_;  // of the links as they are
};

}  // namespace ddpsim
