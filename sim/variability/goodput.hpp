#pragma once
// What is left of the time of a job whose GPUs fail: checkpoints, restarts, and work done twice. Failures are
// Poisson, may hit anything, checkpoints and restarts too, and nothing else runs beside a checkpoint: J. T.
// Daly, "A higher order estimate of the optimum checkpoint interval for restart dumps", Future Generation
// Computer Systems 22 (2006), equation 20.
#include <optional>

#include "sim/base/units.hpp"

namespace ddpsim {

struct Failures {
  Seconds mtbf;  // mean time between failures of one GPU, with its share of all that a job needs
  Seconds checkpoint, restart;           // the latter until steps go on from the last checkpoint
  std::optional<Seconds> interval = {};  // of steps between checkpoints; none: the best
  bool operator==(const Failures&) const = default;
};

struct Goodput {
  Seconds mtbf = {};      // of the job
  Seconds interval = {};  // of steps between checkpoints
  double share = 1;       // of the time spent on steps that are not lost
};

Goodput goodput_of(const Failures& failures, int gpus);

}  // namespace ddpsim
