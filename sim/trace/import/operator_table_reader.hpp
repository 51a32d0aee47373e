#pragma once
// The two tables of a per-operator profile as they stand, checked against each other; what they mean for
// gradients is operator_table.cpp's.
#include <map>
#include <string>
#include <vector>

#include "sim/base/source.hpp"

namespace ddpsim {

enum class OperatorStage { forward, backward, optimizer };

// A row of TENSORS.csv.
struct TableTensor {
  std::int64_t elements = 0;
  int bytes_each = 0;
  std::string type;     // "weight", "bias", "output" ...; without the default value that "bias=None" carries
  std::string storage;  // the memory it lies in; a transposed view has that of its tensor
  SourceSpan span;
};

// A row of TRACE.csv.
struct TableOperator {
  Located name;  // as written
  OperatorStage stage = OperatorStage::forward;
  double microseconds = 0;               // of its kernels
  std::vector<Located> inputs, outputs;  // ids of tensors

  // "conv2d" of "aten::conv2d", "ReluBackward0" of "autograd::engine::evaluate_function: ReluBackward0".
  [[nodiscard]] std::string short_name() const;
};

struct OperatorTables {
  std::shared_ptr<const SourceFile> trace;
  std::map<std::string, TableTensor> tensors;  // by id
  std::vector<TableOperator> operators;        // forward, then backward, then the optimizer's

  // The tensor of that id, or an InputError there.
  [[nodiscard]] const TableTensor& tensor(const Located& id) const;
};

// Throws InputError with place and hint.
OperatorTables read_operator_tables(const std::string& trace_path, const std::string& tensors_path);

}  // namespace ddpsim
