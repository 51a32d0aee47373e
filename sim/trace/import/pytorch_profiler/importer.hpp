#pragma once
// Importer of the PyTorch profiler's traces (Kineto's JSON in Chrome's format, plain or gzip): gradients'
// sizes and ready times, forward, optimizer and DDP's all-reduces, of the training steps one rank recorded.
// docs/reference/traces.md says which events count and how.
#include "sim/trace/import/importer.hpp"

namespace ddpsim {

TraceImporter pytorch_profiler_importer();

}  // namespace ddpsim
