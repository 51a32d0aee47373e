#include "sim/report/plot.hpp"

#include <fmt/core.h>

#include "sim/base/check.hpp"
#include "sim/base/output_file.hpp"
#include "sim/base/source.hpp"
#include "sim/process/external_program.hpp"
#include "sim/report/plot_kinds.hpp"

namespace ddpsim {

PlotFormat plot_format(const std::string& path) {
  if (path.ends_with(".svg")) return PlotFormat::svg;
  if (path.ends_with(".png")) return PlotFormat::png;
  throw InputError(fmt::format("cannot tell the format of the plot '{}'", path),
                   "end its name in .svg or .png");
}

ExternalProgram gnuplot() {
  // -d: the user's own settings do not change the picture.
  return {"gnuplot", {"-d"}, "plots are drawn", "gnuplot-nox"};
}

void check_plot_path(const std::string& path) {
  plot_format(path);
  require_program(gnuplot());
}

std::string sweep_plot_script(const SweepResult& result, const std::string& output_path) {
  auto format = plot_format(output_path);
  DDPSIM_CHECK(!result.points.empty(), "a sweep has points");
  auto axis = line_axis(result);
  return axis ? line_plot_script(result, *axis, format) : bar_plot_script(result, format);
}

void write_sweep_plot(const SweepResult& result, const std::string& path) {
  write_whole_file(path, run_program(gnuplot(), sweep_plot_script(result, path)));
}

void write_bar_plot(const SweepResult& result, const std::string& path) {
  write_whole_file(path, run_program(gnuplot(), bar_plot_script(result, plot_format(path))));
}

}  // namespace ddpsim
