#include "sim/trace/layer_trace.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ddpsim {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(LayerTrace, DtypesHaveTheSizesOfTheirNames) {
  EXPECT_EQ(bytes_per_element(DType::float16), 2);
  EXPECT_EQ(bytes_per_element(DType::bfloat16), 2);
  EXPECT_EQ(bytes_per_element(DType::float32), 4);
  EXPECT_EQ(bytes_per_element(DType::float64), 8);
  for (const auto& name : dtype_names()) EXPECT_EQ(dtype_name(find_dtype(name).value()), name);
  EXPECT_THAT(dtype_names(), ElementsAre("float16", "bfloat16", "float32", "float64"));
  EXPECT_FALSE(find_dtype("Float32"));
  EXPECT_FALSE(find_dtype(""));
}

TEST(LayerTrace, BytesAddUpOverDtypes) {
  LayerTrace trace;
  trace.gradients = {{"a", 10, DType::float32, Seconds(1), {}}, {"b", 3, DType::bfloat16, Seconds(2), {}}};
  EXPECT_EQ(trace.bytes(), Bytes(10 * 4 + 3 * 2));
  EXPECT_EQ(trace.backward(), Seconds(2));
}

TEST(LayerTrace, ReverseOfArrivalCountsDown) {
  EXPECT_THAT(reverse_of_arrival(3), ElementsAre(2, 1, 0));
  EXPECT_THAT(reverse_of_arrival(0), IsEmpty());
}

}  // namespace
}  // namespace ddpsim
