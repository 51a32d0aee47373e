#pragma once
// What happened in one simulated iteration: spans on lanes. No behaviour.
#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "sim/base/operation.hpp"
#include "sim/base/units.hpp"

namespace ddpsim {

enum class Activity {
  broadcast,  // of the model's buffers, on the communication lane; on the compute lane the wait for it
  forward,
  backward,
  wait,  // compute is done and waits for the last collective: exposed communication
  optimizer,
  copy_in,                // passes over gradients before their all-reduce: the copy into a bucket
  copy_out,               // and after it: the division by the number of ranks, the copy back
  compress,               // what PowerSGD does to gradients before, between and after their all-reduces
  launch,                 // hooks and the launch of collectives
  all_reduce,             // a bucket's collective, on the communication lane
  all_gather,             // of a unit's parameters
  reduce_scatter,         // of a unit's gradients
  message,                // of activations or their gradients from stage to stage of a pipeline
  used_parameter_bitmap,  // the small extra all-reduce of find_unused_parameters
  replicate,              // DataParallel's broadcast of parameters
  reduce,                 // of gradients to GPU 0
  push,                   // of a gradient to parameter servers
  pull,                   // of a parameter from them
  serve,                  // parameter servers with a step of all workers
  host_copy,              // between host and GPU
  peer_copy,              // of outputs to GPU 0, of their gradients from it
  host_wait,              // for a framework's hooks
  all_to_all,             // what every rank sends every other
};

// "all_reduce"
std::string_view activity_name(Activity activity);
std::optional<Activity> find_activity(std::string_view name);
std::vector<Activity> activities();
// The operation of a collective's span; none: it is no collective's.
std::optional<Operation> collective_operation(Activity activity);
// Likewise; meaningless for other activities.
Operation operation_of(Activity activity);

// Times count from the start of the last backward pass of the slowest rank class: what comes before is
// negative. `index` is the accumulation step (forward, backward) or the bucket. Where compute and
// communication slow one another down a compute span ends when its rate changes, and `lost` is how much
// shorter it would have been by itself.
struct Span {
  Activity activity;
  std::size_t index;
  Seconds start, end;
  Seconds lost = Seconds(0);
  Bytes bytes = Bytes(0);        // of a collective
  std::size_t communicator = 0;  // of a collective: the program's
  bool is_fixed = false;         // of compute: as long on a slower GPU
};

// One equivalence class of ranks: `ranks` ranks behave exactly like `rank`, the lowest of them.
struct RankTimeline {
  int rank = 0;
  int ranks = 0;
  std::vector<std::size_t> communicators;  // which each of the program's is: the first of those it stands for
  int group_size = 0;                      // ranks that reduce with it, itself included
  std::size_t stage = 0;                   // of a pipeline
  double slowdown = 1;
  std::vector<int> stragglers;                   // all of them, where they are few and slower than others
  std::vector<Span> compute;                     // back to back, in order, over this rank's whole iteration
  std::vector<std::vector<Span>> other_streams;  // compute beside it, with gaps
  std::vector<Span> communication;               // by start; several may be in flight at once
  Seconds backward_start;             // of the last accumulation step: the zero of ready/start/end in results
  std::vector<Seconds> bucket_ready;  // all gradients of the bucket are there; one entry a bucket

  [[nodiscard]] Seconds duration() const;  // of the iteration
};

struct Timeline {
  std::vector<RankTimeline> rank_classes;  // by lowest rank; never empty

  // The class whose iteration takes longest: the last to finish of a group, or of all if the groups start
  // together. Among equals the last, then the slowest, then the lowest rank. Reported terms belong to it.
  [[nodiscard]] const RankTimeline& last_to_finish() const;
};

}  // namespace ddpsim
