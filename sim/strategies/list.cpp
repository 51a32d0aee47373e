// The strategies, in the order in which they are listed.
#include <algorithm>

#include "sim/strategies/families.hpp"

namespace ddpsim {

StrategyFamily hand_written_family();
StrategyFamily ddp_family();
StrategyFamily fsdp_family();
StrategyFamily zero_family();
StrategyFamily zero3_family();
StrategyFamily megatron_family();
StrategyFamily single_process_family();
StrategyFamily server_family();
StrategyFamily own_program_family();
StrategyFamily recorded_family();

namespace {

std::vector<StrategyFamily>& families() {
  static std::vector<StrategyFamily> all{hand_written_family(),   ddp_family(),    fsdp_family(),
                                         zero_family(),           zero3_family(),  megatron_family(),
                                         single_process_family(), server_family(), own_program_family(),
                                         recorded_family()};
  return all;
}

}  // namespace

void add_strategy_family(StrategyFamily family) {
  families().push_back(std::move(family));
}

const std::vector<const Strategy*>& strategies() {
  static const std::vector<const Strategy*> all = [] {
    std::vector<const Strategy*> each;
    for (const auto& family : families())
      each.insert(each.end(), family.strategies.begin(), family.strategies.end());
    return each;
  }();
  return all;
}

const Strategy* find_strategy(std::string_view name) {
  auto found = std::ranges::find(strategies(), name, &Strategy::name);
  return found == strategies().end() ? nullptr : *found;
}

void add_strategy_rows(keys::Rows<Job>& to) {
  for (const auto& family : families())
    if (family.add_rows) family.add_rows(to);
}

}  // namespace ddpsim
