#include "sim/study/resolve_all.hpp"

#include "sim/process/worker_threads.hpp"

namespace ddpsim {

std::vector<Resolved> resolve_all(Files& files, std::span<const config::Value* const> roots) {
  std::vector<Resolved> found(roots.size());
  auto resolve_one = [&](unsigned, std::size_t i) {
    try {
      found[i].scenario = resolve(files, *roots[i]);
    } catch (const InputError& error) {
      found[i].refusal = error;
    }
  };
  run_in_threads(roots.size(), all_cores(), roots.size(), resolve_one, [](std::size_t) {});
  return found;
}

}  // namespace ddpsim
