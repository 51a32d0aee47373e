#pragma once
// The all-reduces that a step's backward pass launched to reduce gradients.
#include <optional>
#include <string>
#include <vector>

#include "sim/trace/import/pytorch_profiler/profile.hpp"
#include "sim/trace/import/pytorch_profiler/steps.hpp"
#include "sim/trace/layer_trace.hpp"

namespace ddpsim::pytorch_profiler {

struct AllReduce {
  std::int64_t elements = 0;
  DType dtype = DType::float32;
  std::optional<std::int64_t> group_size;  // ranks, where that was recorded
  std::optional<Time> launched;            // on the CPU, where that was recorded
  Span kernel;
};

// Why something cannot be used.
struct Flaw {
  std::string message, hint;
};

struct StepAllReduces {
  std::vector<AllReduce> list;  // in the order of launch
  Time end = Time::min();       // of the last kernel, also where there is a flaw
  bool hooked = false;          // launched from gradients' hooks, as DDP does
  std::optional<Flaw> flaw;     // a size or type is not known; the list is then empty
  std::size_t others = 0;       // collectives of the backward pass that reduce no gradient: left out
};

// The collectives of a profile with what kernel and CPU operator say about each.
class Collectives {
 public:
  explicit Collectives(const Profile& profile);

  // Throws InputError where the backward pass reduces gradients in another way than DDP does.
  [[nodiscard]] StepAllReduces all_reduces(const Step& step) const;

 private:
  struct Collective {
    CollectiveFacts facts;
    const Launch* launch = nullptr;
    Span kernel;
    // Its place in time: the launch, else the kernel's start.
    [[nodiscard]] Time at() const { return launch ? launch->at : kernel.start; }
  };
  static bool belongs_to(const Step& step, const Collective& collective);

  std::vector<Collective> collectives_;  // in the order of at()
};

}  // namespace ddpsim::pytorch_profiler
