#pragma once
// Records a layer trace: trains a GPT-2 on this machine and times every gradient.
#include <string>

#include "traces/capture/command/capture_options.hpp"

#include "sim/trace/layer_trace.hpp"

namespace ddpsim {

struct Captured {
  LayerTrace trace;
  std::string steps;                 // write_steps() (captured_steps.hpp)
  double spread = 0;                 // of the backward passes: backward_spread (captured_steps.hpp)
  std::vector<std::string> remarks;  // what the user should know, a sentence each
};

// Throws BackendMissing where the device is not there, InputError where the model does not fit into it,
// RunFailed where training went wrong.
Captured capture(const CaptureOptions& options);

}  // namespace ddpsim
