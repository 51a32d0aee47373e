// The section `validation` of a scenario.
#include <gtest/gtest.h>

#include "sim/resolve/sections.hpp"

#include "tests/config/text.hpp"

namespace ddpsim::testing {
namespace {

ValidationSettings read(const std::string& text) {
  return validation_settings(Files(DDPSIM_SOURCE_DIR "/configs/a.yaml"), read_partial_job(parse(text)));
}

void expect_defaults(const ValidationSettings& settings) {
  EXPECT_EQ(settings.backend, Backend::gloo);
  EXPECT_EQ(settings.compute, RealCompute::replay);
  EXPECT_FALSE(settings.testbed_rate);
  EXPECT_FALSE(settings.testbed_delay);
  EXPECT_FALSE(settings.measured);
  EXPECT_FALSE(settings.iteration_error);
  EXPECT_FALSE(settings.regret);
}

TEST(ValidationSection, Defaults) {
  expect_defaults(read("strategy: ddp\n"));
  expect_defaults(read("validation: {}\n"));
}

TEST(ValidationSection, EveryKey) {
  auto settings = read(
      "validation:\n"
      "  backend: nccl\n"
      "  ranks: 8\n"
      "  compute: model\n"
      "  testbed: {rate: 1Gbps, delay: 50us}\n"
      "  measured: quickstart.yaml\n"
      "  thresholds: {iteration_error: 5%, regret: 0.5%}\n");
  EXPECT_EQ(settings.backend, Backend::nccl);
  EXPECT_EQ(settings.compute, RealCompute::model);
  EXPECT_EQ(settings.testbed_rate, BytesPerSecond(125e6));
  ASSERT_TRUE(settings.testbed_delay);
  EXPECT_DOUBLE_EQ(settings.testbed_delay->value(), 50e-6);
  EXPECT_EQ(settings.measured, DDPSIM_SOURCE_DIR "/configs/quickstart.yaml");
  EXPECT_EQ(settings.iteration_error, 0.05);
  EXPECT_EQ(settings.regret, 0.005);
}

TEST(ValidationSection, NoTestbed) {
  expect_defaults(read("validation: {testbed: none}\n"));
}

TEST(ValidationSection, EachKeyAlone) {
  auto settings = read("validation: {testbed: {rate: 100MB/s}, thresholds: {regret: 0%}}\n");
  EXPECT_EQ(settings.testbed_rate, BytesPerSecond(1e8));
  EXPECT_FALSE(settings.testbed_delay);
  EXPECT_FALSE(settings.iteration_error);
  EXPECT_EQ(settings.regret, 0);
  EXPECT_EQ(read("validation: {backend: gloo}\n").backend, Backend::gloo);
  EXPECT_EQ(read("validation: {compute: replay}\n").compute, RealCompute::replay);
  expect_defaults(read("validation: {thresholds: {}}\n"));
}

}  // namespace
}  // namespace ddpsim::testing
