#pragma once
// A convolution and a linear layer as TrioSim's tracer writes them, small enough to be read.
#include <string>

#include <gtest/gtest.h>

#include "sim/trace/import/operator_table.hpp"

#include "tests/support/temporary_folder.hpp"

namespace ddpsim::testing {

// 8 is the linear weight, tensor 5, transposed: it lies in the same memory, 25. 0 is no tensor.
inline const std::string kOperators =
    "OperatorID,OperatorName,Operator_input,Operator_output,Operator_cudatime,Operator_cudatimenooverlap,"
    "InputSize,OutputSize,gpuid,stage,tpflag\n"
    "1,aten::conv2d,[1; 2; 3],[4],9,7,[100; 8; 2],[50],0,forward,1\n"
    "2,aten::linear,[4; 5; 6],[7],9,3,[50; 40; 4],[20],0,forward,1\n"
    "3,autograd::engine::evaluate_function: AddmmBackward0,[8],[8],9,5,[40],[40],0,backward,1\n"
    "4,autograd::engine::evaluate_function: ReluBackward0,[7],[7],1,1,[20],[20],0,backward,0\n"
    "5,autograd::engine::evaluate_function: ConvolutionBackward0,[7; 1; 2],[0; 9; 10],30,20,[20; 100; 8],"
    "[0; 8; 2],0,backward,1\n"
    "6,aten::_foreach_add_,[2; 3; 5; 6; 9; 10; 8; 11],[],4,4,[8; 2; 40; 4; 8; 2; 40; 4],[],0,optimizer,0\n";

inline const std::string kTensors =
    "Index,TensorID,TensorShape,TensorNumElement,TensorEachByte,TensorType,TensorStorgeid,gpuid\n"
    "0,1,\"[4, 25]\",100,4,input,21,0\n"
    "1,2,\"[2, 4]\",8,4,weight,22,0\n"
    "2,3,[2],2,4,bias=None,23,0\n"
    "3,4,[50],50,4,output,24,0\n"
    "4,5,\"[4, 10]\",40,4,weight,25,0\n"
    "5,6,[4],4,4,bias=None,26,0\n"
    "6,7,[20],20,4,output,27,0\n"
    "7,8,\"[10, 4]\",40,4,mat2,25,0\n"
    "8,9,\"[2, 4]\",8,4,output,28,0\n"
    "9,10,[2],2,4,output,29,0\n"
    "10,11,[4],4,4,input,30,0\n"
    "11,0,[],0,0,weight,0,0\n"
    "12,2,\"[2, 4]\",8,4,input,22,0\n";

// The text with the first `part` replaced.
inline std::string with(std::string text, const std::string& part, const std::string& by) {
  auto at = text.find(part);
  EXPECT_NE(at, std::string::npos) << part;
  if (at != std::string::npos) text.replace(at, part.size(), by);
  return text;
}

// The two tables as files.
class OperatorTablesFolder {
 public:
  explicit OperatorTablesFolder(const std::string& operators = kOperators,
                                const std::string& tensors = kTensors) {
    import.trace_path = folder_.write("trace.csv", operators);
    import.tensors_path = folder_.write("tensor.csv", tensors);
  }
  [[nodiscard]] std::string without_folder(const std::string& message) const {
    return folder_.without_folder(message);
  }

  OperatorTableImport import;

 private:
  TemporaryFolder folder_;
};

}  // namespace ddpsim::testing
