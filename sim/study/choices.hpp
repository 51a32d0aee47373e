#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/result/sweep_result.hpp"

namespace ddpsim {

// What a way has that others may not: the evidence of that class of choice knows by how much such ways differ
// besides. Ways with the same value of a key share the error.
struct Trait {
  std::string_view of;  // name of the class: "cap"
  std::string key, value;
};

struct Way {
  const IterationMetrics* metrics;  // with its uncertainty
  std::vector<Trait> traits;
};
// Of a value of a scenario's key.
Trait trait_of(const std::string& key, const std::string& value);
// Which buckets a cap gives: caps are alike that give as many, within a factor of two.
Trait cap_trait(const IterationMetrics& metrics);

// Of ways of the same job, by common draws: what they share decides nothing. At least one.
std::vector<Odds> odds_of(std::span<const Way> ways);

// Of a cap against another one; none where nothing is in doubt, or they are the same.
std::optional<Odds> odds_against(const IterationMetrics& cap, const IterationMetrics& other);

// Sets the odds of points that are ways of the same job.
void add_odds(SweepResult& result);

}  // namespace ddpsim
