#pragma once
// `simulate --best-caps`: looks for the best list of ddp.bucket_caps.
#include <cstddef>
#include <functional>

#include "sim/engine/scenario.hpp"
#include "sim/report/best_caps.hpp"

namespace ddpsim {

// Throws InputError where no list of caps makes the scenario's buckets.
void check_best_caps(const Scenario& scenario);

// Of a checked scenario; on_done is told how many of the single caps have been tried.
BestCaps best_caps(
    const Scenario& scenario, unsigned jobs,
    const std::function<void(std::size_t done, std::size_t all)>& on_done = [](std::size_t, std::size_t) {});

}  // namespace ddpsim
