// Models (config.json included), GPUs, software, fabrics and calibrations.
#include "sim/text/gpu_file.hpp"
#include "sim/text/model_file.hpp"
#include "sim/text/nccl_calibration.hpp"
#include "sim/text/physics_calibration.hpp"
#include "sim/text/software_file.hpp"
#include "sim/text/weather_file.hpp"

#include "tests/fuzz/fuzzed_text.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace ddpsim;
  using namespace ddpsim::fuzzing;
  const auto text = view_of(bytes, size);
  const FuzzedFile file(text);
  expect_answer([&] { read_model(file.path()); });
  expect_answer([&] { read_gpu(file.path()); });
  expect_answer([&] { read_software(file.path(), "NVIDIA A100 SXM4 80GB"); });
  expect_answer([&] { read_weather_file(file.path()); });
  expect_answer([&] { read_calibration(file.path()); });
  expect_answer([&] { read_physics_calibration(file.path()); });
  return 0;
}
