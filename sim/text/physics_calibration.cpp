#include "sim/text/physics_calibration.hpp"

#include <fmt/core.h>

#include "sim/base/double_quoted.hpp"
#include "sim/base/limits.hpp"
#include "sim/config/reader.hpp"

namespace ddpsim {

PhysicsCalibration read_physics_calibration(const std::string& path) {
  auto root = config::load_yaml(path, "a calibration of interference");
  config::MapReader reader(root, "calibration");
  PhysicsCalibration calibration;
  config::MapReader interference(reader.require("interference"), "interference");
  auto number = config::as_number(0, kLargestInterference);
  calibration.interference = {interference.required("compute", number),
                              interference.required("collective", number)};
  interference.finish();
  calibration.launch = reader.optional("launch", config::as_seconds);
  calibration.spread = reader.optional("spread", config::as_number(0, kLargestSpread));
  calibration.run_set = reader.optional("run_set", config::as_string);
  reader.optional("fitted_to", config::as_string);
  reader.finish();
  return calibration;
}

std::string write_physics_calibration(const PhysicsCalibration& calibration, const std::string& fitted_to) {
  std::string text =
      "# How strongly compute and communication slow one another down, fitted by `ddpsim calibrate`. What it "
      "means: docs/model.md.\n";
  text += fmt::format("interference: {{compute: {:.6g}, collective: {:.6g}}}\n",
                      calibration.interference.compute, calibration.interference.collective);
  if (calibration.launch) text += fmt::format("launch: {:.6g}us\n", 1e6 * calibration.launch->value());
  if (calibration.spread) text += fmt::format("spread: {:.6g}\n", *calibration.spread);
  if (calibration.run_set) text += fmt::format("run_set: {}\n", double_quoted(*calibration.run_set));
  return text + fmt::format("fitted_to: {}\n", double_quoted(fitted_to));
}

}  // namespace ddpsim
