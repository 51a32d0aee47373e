#include "sim/text/physics_calibration.hpp"

#include <utility>

#include <fmt/core.h>

#include "sim/base/double_quoted.hpp"
#include "sim/base/limits.hpp"
#include "sim/keys/types.hpp"
#include "sim/text/evidence_file.hpp"
#include "sim/text/file_rows.hpp"

namespace ddpsim::interference_keys {
namespace {

using namespace keys;

struct File : PhysicsCalibration {
  std::string fitted_to = {};  // for people
  std::optional<Value> evidence = {};
};

Section rows() {
  auto share = number(0, kLargestInterference);
  auto interference = nested(Rows<Interference>("interference")
                                 .needs<&Interference::compute>("compute", share, "Of compute")
                                 .needs<&Interference::collective>("collective", share, "Of collectives"));
  return Rows<File>("calibration")
      .needs<&File::interference>("interference", interference, "Slowdown of each by the other")
      .key<&File::launch>("launch", maybe(time()), "Of each collective")
      .key<&File::spread>("spread", maybe(number(0, kLargestSpread)), "Of GPUs")
      .key<&File::run_set>("run_set", maybe(text()), "What was measured together")
      .key<&File::fitted_to>("fitted_to", text(), "Tables")
      .key<&File::evidence>("evidence", maybe(any()), "Of the steps it was fitted to");
}

File read_file(const std::string& path) {
  static const auto section = rows();
  auto file = keys::read_root<File>(section, config::load_yaml(path, "a calibration of interference"));
  file.is_fitted = true;
  return file;
}

}  // namespace
}  // namespace ddpsim::interference_keys

namespace ddpsim {

keys::Section file_rows::physics_calibration() {
  return interference_keys::rows();
}

PhysicsCalibration read_physics_calibration(const std::string& path) {
  return interference_keys::read_file(path);
}

Evidence read_physics_evidence(const std::string& path, Evidence known) {
  auto file = interference_keys::read_file(path);
  return file.evidence ? read_evidence_section(*file.evidence, std::move(known)) : known;
}

std::string write_physics_calibration(const PhysicsCalibration& calibration, const std::string& fitted_to,
                                      const Evidence& measured) {
  std::string text =
      "# How strongly compute and communication slow one another down, fitted by `ddpsim calibrate`. What it "
      "means: docs/model.md.\n";
  text += fmt::format("interference: {{compute: {:.6g}, collective: {:.6g}}}\n",
                      calibration.interference.compute, calibration.interference.collective);
  if (calibration.launch) text += fmt::format("launch: {:.6g}us\n", 1e6 * calibration.launch->value());
  if (calibration.spread) text += fmt::format("spread: {:.6g}\n", *calibration.spread);
  if (calibration.run_set) text += fmt::format("run_set: {}\n", double_quoted(*calibration.run_set));
  text += fmt::format("fitted_to: {}\n", double_quoted(fitted_to));
  if (!measured.measured.empty()) text += "evidence:\n" + write_evidence_section(measured, "  ");
  return text;
}

}  // namespace ddpsim
