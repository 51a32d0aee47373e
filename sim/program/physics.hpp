#pragma once
// What makes an overlapped iteration longer than its compute and its communication explain, each by itself.
// All zero: the plain model, in which they know nothing of one another.
#include <optional>
#include <string>

#include "sim/base/units.hpp"

namespace ddpsim {

// A collective's kernels take multiprocessors and memory bandwidth from the compute beside them, and the
// other way round: while both are active on a GPU, compute progresses at 1 / (1 + compute) of its speed and
// the collective at 1 / (1 + collective).
struct Interference {
  double compute = 0;     // s
  double collective = 0;  // r
  [[nodiscard]] bool is_off() const { return compute == 0 && collective == 0; }
  bool operator==(const Interference&) const = default;
};

// What passes exchange over links of a kind while they run: the share of their time that they wait for it,
// and that it keeps the links busy. A collective over the same links and they then get half of them each:
// while it is under way, passes progress at 1 / (1 + waited) and it at 1 / (1 + busy) of their speed.
struct LinkUse {
  double waited = 0, busy = 0;
  bool operator==(const LinkUse&) const = default;
};
struct LinkUses {
  LinkUse within, between;  // nodes
  [[nodiscard]] const LinkUse& of(bool crosses_nodes) const { return crosses_nodes ? between : within; }
  bool operator==(const LinkUses&) const = default;
};

// How often an implementation goes over the bytes of a bucket, reading and writing each: before its
// all-reduce (the copy into the bucket, in PyTorch the division with it) and after it (the division by the
// number of ranks, the copy back).
struct Passes {
  double in = 0, out = 0;
  bool operator==(const Passes&) const = default;
};

// What a framework's hooks take of the host: of a module in a pass, of a gradient that is reduced, of a
// parameter that is stepped; of counting a parameter, where a release's hooks do. A pass takes as long at
// least.
struct Hooks {
  Seconds module, gradient, parameter;
  Seconds count = {};
  bool operator==(const Hooks&) const = default;
};

// What an implementation does on the compute lane besides the model itself.
struct Overheads {
  std::optional<BytesPerSecond>
      pass_bandwidth;            // bytes moved, so 2 x bytes a pass; absent: passes cost nothing
  Seconds pass_launch;           // each pass over a tensor (before) or a bucket (after), besides
  Passes passes, passes_of_one;  // of a bucket; of a bucket of a single gradient
  bool compresses = false;       // and what a hook does that compresses
  // Of PowerSGD's products; absent: they take what they move.
  std::optional<FlopsPerSecond> product_rate;
  Seconds gradient;     // each gradient's hook
  Seconds launch;       // each collective's launch
  Seconds first_start;  // how much longer the first collective of an iteration takes to start
  Hooks hooks;
  [[nodiscard]] bool is_off() const {
    constexpr Seconds kNothing;
    return passes == Passes() && passes_of_one == Passes() && gradient == kNothing && launch == kNothing &&
           first_start == kNothing && hooks == Hooks();
  }
  bool operator==(const Overheads&) const = default;
};

// How much GPUs differ in speed for a whole run: the standard deviation over the median, of ranks and of
// whole nodes. Ranks that communicate wait for the slowest of them.
struct Spread {
  double ranks = 0, nodes = 0;
  bool operator==(const Spread&) const = default;
};

struct Physics {
  Interference interference;
  Spread spread;
  // Of what nothing calibrated and nobody gave: from where to where it may be; the above is in between.
  struct End {
    Interference interference;
    Spread spread;
  };
  struct Range {
    End least, most;
  };
  std::optional<Range> range;
  bool is_calibrated = false;  // interference, to overlapped steps, which evidence may have
  Overheads overheads;
  [[nodiscard]] bool is_off() const {
    return interference.is_off() && overheads.is_off() && spread == Spread();
  }
};

}  // namespace ddpsim
