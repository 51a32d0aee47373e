#pragma once
// Strategies that one file has, with their section of a scenario's keys. list.cpp has all of them.
#include "sim/job/job.hpp"
#include "sim/keys/table.hpp"
#include "sim/strategy/strategy.hpp"

namespace ddpsim {

struct StrategyFamily {
  std::vector<const Strategy*> strategies;
  void (*add_rows)(keys::Rows<Job>& to) = nullptr;  // null: they have no keys of their own
};
// Besides those of the list: before anybody asks for a strategy or a key.
void add_strategy_family(StrategyFamily family);
void add_strategy_rows(keys::Rows<Job>& to);

}  // namespace ddpsim
