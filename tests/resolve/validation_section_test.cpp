// The section `validation` of a scenario.
#include <gtest/gtest.h>

#include "sim/resolve/sections.hpp"

#include "tests/config/text.hpp"

namespace ddpsim::testing {
namespace {

ValidationSettings read(const std::string& text) {
  return validation_settings(Files(DDPSIM_SOURCE_DIR "/configs/a.yaml"), read_partial_job(parse(text)));
}

std::string error_of(const std::string& text) {
  return input_error([&] { read(text); });
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

// "5" might be 5 % or 5 times as long.
TEST(ValidationSectionErrors, ThresholdsWithoutPercent) {
  for (const char* number : {"5", "0.05", "five", "5%%x"}) {
    std::string underline = "^" + std::string(std::string(number).size() - 1, '~');
    EXPECT_EQ(error_of("validation: {thresholds: {regret: " + std::string(number) + "}}\n"),
              "a.yaml:1:35: error: '" + std::string(number) +
                  "' is not a percentage\n"
                  "  1 | validation: {thresholds: {regret: " +
                  number +
                  "}}\n"
                  "    |                                   " +
                  underline + "\nhint: write it like 5%");
  }
}

TEST(ValidationSectionErrors, ThresholdsThatAreNoNumbers) {
  EXPECT_EQ(error_of("validation: {thresholds: {iteration_error: -1%}}\n"),
            "a.yaml:1:44: error: -1 is outside [0, 1000000]\n"
            "  1 | validation: {thresholds: {iteration_error: -1%}}\n"
            "    |                                            ^~\n"
            "hint: write a number in that range");
  EXPECT_EQ(error_of("validation: {thresholds: {iteration_error: some%}}\n"),
            "a.yaml:1:44: error: 'some' is not a number\n"
            "  1 | validation: {thresholds: {iteration_error: some%}}\n"
            "    |                                            ^~~~\n"
            "hint: write it like 1.5");
  EXPECT_EQ(error_of("validation: {thresholds: {iteration_error: [5%]}}\n"),
            "a.yaml:1:44: error: expected text, found a list\n"
            "  1 | validation: {thresholds: {iteration_error: [5%]}}\n"
            "    |                                            ^\n"
            "hint: write it like 'key: text'");
}

TEST(ValidationSectionErrors, ATestbedWithoutRate) {
  EXPECT_EQ(error_of("validation: {testbed: {delay: 5us}}\n"),
            "a.yaml:1:23: error: 'validation.testbed' lacks the key 'rate'\n"
            "  1 | validation: {testbed: {delay: 5us}}\n"
            "    |                       ^\n"
            "hint: add 'rate: ...'");
}

TEST(ValidationSectionErrors, QuantitiesOfTheTestbed) {
  EXPECT_EQ(error_of("validation: {testbed: {rate: 5}}\n"),
            "a.yaml:1:30: error: '5' has no unit\n"
            "  1 | validation: {testbed: {rate: 5}}\n"
            "    |                              ^\n"
            "hint: write a bandwidth like 100Gbps or 12.5GB/s");
  EXPECT_EQ(error_of("validation: {testbed: {rate: 1Gbps, delay: 5}}\n"),
            "a.yaml:1:44: error: '5' has no unit\n"
            "  1 | validation: {testbed: {rate: 1Gbps, delay: 5}}\n"
            "    |                                            ^\n"
            "hint: write a time like 5us");
}

TEST(ValidationSectionErrors, Ranks) {
  EXPECT_EQ(error_of("validation: {ranks: 1}\n"),
            "a.yaml:1:21: error: 1 is out of range\n"
            "  1 | validation: {ranks: 1}\n"
            "    |                     ^\n"
            "hint: write a number from 2 to 1048576");
}

TEST(ValidationSectionErrors, UnknownWords) {
  EXPECT_EQ(error_of("validation: {backend: glo}\n"),
            "a.yaml:1:23: error: unknown value 'glo'; did you mean 'gloo'?\n"
            "  1 | validation: {backend: glo}\n"
            "    |                       ^~~\n"
            "hint: one of nccl, gloo");
  EXPECT_EQ(error_of("validation: {compute: real}\n"),
            "a.yaml:1:23: error: unknown value 'real'\n"
            "  1 | validation: {compute: real}\n"
            "    |                       ^~~~\n"
            "hint: one of replay, model");
}

TEST(ValidationSectionErrors, UnknownKeys) {
  EXPECT_EQ(error_of("validation: {rank: 8}\n"),
            "a.yaml:1:14: error: unknown key 'rank'; did you mean 'ranks'?\n"
            "  1 | validation: {rank: 8}\n"
            "    |              ^~~~\n"
            "hint: 'validation' knows backend, compute, ranks, testbed, measured, thresholds");
  EXPECT_EQ(error_of("validation: {testbed: {rate: 1Gbps, loss: 1%}}\n"),
            "a.yaml:1:37: error: unknown key 'loss'\n"
            "  1 | validation: {testbed: {rate: 1Gbps, loss: 1%}}\n"
            "    |                                     ^~~~\n"
            "hint: 'validation.testbed' knows rate, delay");
  EXPECT_EQ(error_of("validation: {thresholds: {regrets: 1%}}\n"),
            "a.yaml:1:27: error: unknown key 'regrets'; did you mean 'regret'?\n"
            "  1 | validation: {thresholds: {regrets: 1%}}\n"
            "    |                           ^~~~~~~\n"
            "hint: 'validation.thresholds' knows iteration_error, regret");
}

TEST(ValidationSectionErrors, NoMap) {
  EXPECT_EQ(error_of("validation: gloo\n"),
            "a.yaml:1:13: error: 'validation' is a map of keys, not a single value\n"
            "  1 | validation: gloo\n"
            "    |             ^~~~\n"
            "hint: write 'key: value' lines below it");
}

}  // namespace
}  // namespace ddpsim::testing
