// Every way in which the tables of operators and tensors can be wrong, with the whole message.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/errors.hpp"
#include "tests/trace/import/operator_tables.hpp"

namespace ddpsim {
namespace {

using ::testing::HasSubstr;
using testing::kOperators;
using testing::kTensors;
using testing::OperatorTablesFolder;
using testing::with;

std::string error_of(const std::string& operators, const std::string& tensors = kTensors,
                     std::optional<DType> dtype = {}) {
  OperatorTablesFolder tables(operators, tensors);
  tables.import.dtype = dtype;
  return tables.without_folder(testing::brief_error([&] { import_operator_table(tables.import); }));
}

std::string changed(const std::string& part, const std::string& by) {
  return error_of(with(kOperators, part, by));
}

constexpr const char* kHeader =
    "OperatorID,OperatorName,Operator_input,Operator_output,Operator_cudatime,Operator_cudatimenooverlap,"
    "InputSize,OutputSize,gpuid,stage,tpflag\n";

TEST(OperatorTableErrors, FilesInTheWrongOrder) {
  EXPECT_EQ(error_of(kTensors, kOperators),
            "trace.csv: is a table of tensors, not a table of operators; ddpsim trace import OPERATORS.csv "
            "trace.csv "
            "--out layers.csv");
}

TEST(OperatorTableErrors, MissingColumns) {
  EXPECT_THAT(changed("Operator_cudatimenooverlap", "time"),
              HasSubstr("trace.csv:1:1: no column 'Operator_cudatimenooverlap'"));
  EXPECT_THAT(error_of(kOperators, with(kTensors, "TensorStorgeid", "storage")),
              HasSubstr("tensor.csv:1:1: no column 'TensorStorgeid'"));
}

TEST(OperatorTableErrors, Lists) {
  EXPECT_EQ(changed("[1; 2; 3],[4],9,7", "1,[4],9,7"),
            "trace.csv:2:16: '1' is not a list; write it like [4; 6; 8]");
  EXPECT_THAT(changed("[1; 2; 3]", "[1; ; 3]"), HasSubstr("trace.csv:2:16-23: a list with an empty place; "));
  EXPECT_THAT(changed("[1; 2; 3]", "[1; 2; 3;]"),
              HasSubstr("trace.csv:2:16-25: a list with an empty place; "));
  EXPECT_THAT(changed("[100; 8; 2]", "[100; 8]"), HasSubstr("trace.csv:2:34-41: 2 sizes for 3 tensors; "));
}

TEST(OperatorTableErrors, Times) {
  EXPECT_EQ(changed("[4],9,7,", "[4],9,-7,"),
            "trace.csv:2:32-33: -7 is outside [0, 1000000000000]; write a number in that range");
  EXPECT_THAT(changed("[4],9,7,", "[4],9,nan,"), HasSubstr("'nan' is not a finite number"));
  auto idle = with(with(with(kOperators, "9,5,[40]", "9,0,[40]"), "1,1,[20]", "1,0,[20]"), "30,20,", "30,0,");
  EXPECT_EQ(error_of(idle),
            "trace.csv: has no backward operator that takes time; was it recorded on a GPU, with its "
            "backward pass?");
}

TEST(OperatorTableErrors, Stages) {
  EXPECT_EQ(changed("0,forward,1", "0,foward,1"),
            "trace.csv:2:53-58: unknown stage 'foward'; did you mean 'forward'?; the stages are forward, "
            "backward and optimizer");
  EXPECT_EQ(changed("0,forward,1", "0,backward,1"),
            "trace.csv:3:53-59: a stage that was already left; the operators of one step are expected: "
            "forward, then backward, then the optimizer's");
}

TEST(OperatorTableErrors, AnotherGpu) {
  EXPECT_EQ(changed("[20],0,forward,1", "[20],1,forward,1"),
            "trace.csv:3:51: an operator of another GPU than 0; the operators of one GPU are expected");
}

TEST(OperatorTableErrors, TablesThatDoNotBelongTogether) {
  EXPECT_EQ(changed("[1; 2; 3]", "[1; 99; 3]"),
            "trace.csv:2:20-21: tensor 99 is not in the table of tensors; do the two files belong together?");
  EXPECT_EQ(changed("[100; 8; 2]", "[100; 9; 2]"),
            "trace.csv:2:40: tensor 2 has 9 elements here and 8 in tensor.csv, line 3; do the two files "
            "belong together?");
  EXPECT_EQ(
      error_of(kOperators, with(kTensors, "12,2,\"[2, 4]\",8", "12,2,\"[3, 3]\",9")),
      "tensor.csv:14:15: tensor 2 has 9 elements here and 8 on line 3; is the file made of two others?");
}

TEST(OperatorTableErrors, NothingToFind) {
  EXPECT_EQ(
      error_of(kHeader),
      "trace.csv: has no forward operator that takes a weight or a bias; do the two files belong together?");
  EXPECT_EQ(error_of(kOperators.substr(0, kOperators.find("3,autograd"))),
            "trace.csv: has no backward operator that takes time; was it recorded on a GPU, with its "
            "backward pass?");
}

TEST(OperatorTableErrors, AParameterWithoutAGradient) {
  EXPECT_EQ(changed("[0; 9; 10],30,20,[20; 100; 8],[0; 8; 2]", "[0; 0; 0],30,20,[20; 100; 8],[0; 0; 0]"),
            "trace.csv:2:20: no backward operator yields the gradient of conv2d.0.weight, with 8 elements; "
            "one has to read the weight and to put out a tensor of its size; is the file cut off, or the "
            "parameter frozen?");
}

TEST(OperatorTableErrors, AnOptimizerOfOtherParameters) {
  EXPECT_EQ(changed("[2; 3; 5; 6; 9; 10; 8; 11]", "[2; 3; 5; 11; 9; 10; 8; 11]"),
            "trace.csv:3:23: linear.0.bias is not among what the optimizer updates (line 7); one of its "
            "operators has to list every weight and bias");
  EXPECT_EQ(changed("[2; 3; 5; 6; 9; 10; 8; 11],[],4,4,[8; 2; 40; 4; 8; 2; 40; 4]",
                    "[2; 3; 11; 5; 6],[],4,4,[8; 2; 4; 40; 4]"),
            "trace.csv:7:30-31: the optimizer also updates tensor 11, which no forward operator takes as "
            "weight or bias; every parameter needs an operator that takes it");
  EXPECT_EQ(changed("[2; 3; 5; 6; 9; 10; 8; 11],[],4,4,[8; 2; 40; 4; 8; 2; 40; 4]",
                    "[2; 3; 5; 6; 11],[],4,4,[8; 2; 40; 4; 4]"),
            "trace.csv:7:3-21: lists 5 tensors, no multiple of 4 parameters; every parameter needs a forward "
            "operator that takes it as weight or bias");
}

TEST(OperatorTableErrors, Dtypes) {
  EXPECT_EQ(
      error_of(kOperators, with(kTensors, "8,4,weight", "8,2,weight")),
      "tensor.csv:3:3: conv2d.0.weight has 2 bytes an element: float16 or bfloat16?; say which with --dtype");
  EXPECT_EQ(error_of(kOperators, kTensors, DType::float16),
            "tensor.csv:7:3: linear.0.bias has 4 bytes an element, and float16 has 2; leave --dtype out, or "
            "is it another file's?");
  EXPECT_THAT(error_of(kOperators, with(kTensors, "8,4,weight", "8,1,weight")),
              HasSubstr("conv2d.0.weight has 1 bytes an element; "));
}

}  // namespace
}  // namespace ddpsim
