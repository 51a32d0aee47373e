#pragma once
// Layer traces from per-operator profiles of one training step on one GPU, the trace.csv and tensor.csv of
// TrioSim's tracer (github.com/sarchlab/triosim, tracer/dataprocess.py): operators with their stage, kernel
// time and tensors, and the tensors with their sizes and memory.
//
// Times are microseconds: the tracer takes them from a PyTorch profile, whose timestamps are, and TrioSim
// divides them by 10^6 (trace.go). An operator takes its kernels' times added up
// (Operator_cudatimenooverlap, the column that TrioSim uses as well). Operator_cudatime, from its first
// kernel's start to its last one's end, holds gaps in which the GPU waited for the host under the profiler.
//
// The rule: operators follow each other without gaps. The parameters are the forward operators' inputs that
// the table of tensors calls weight or bias. A backward operator belongs to a forward operator where it reads
// the memory of one of its parameters, as itself or transposed, and puts out a tensor of that parameter's
// size; at its end the gradients of all parameters of that forward operator are ready, a shared parameter's
// with the last such operator. Gradients of one operator arrive in the reverse of their order in the forward
// operator, the bias first, as autograd hands them to DDP. Parameters are registered as an optimizer operator
// that updates all of them lists them (torch's _foreach_ operators), and each has to be in that list.
//
// The files hold no parameter names. A gradient is named after its forward operator, the how-manieth with
// parameters of its kind that is, and its type: "conv2d.52.weight".
#include <string>

#include "sim/trace/import/importer.hpp"

namespace ddpsim {

struct OperatorTableImport {
  std::string trace_path;      // CSV: OperatorName, Operator_input, ...
  std::string tensors_path;    // CSV: TensorID, TensorNumElement, ...
  std::optional<DType> dtype;  // needed for two bytes an element, which are float16 or bfloat16
  TraceMetadata metadata;      // notes on the rule above are appended
};

// Throws InputError with place and hint for tables that do not fit the rule.
ImportedTrace import_operator_table(const OperatorTableImport& import);

TraceImporter operator_table_importer();

}  // namespace ddpsim
