// The extension ddpsim._core: scenarios as they are read, run and written. What Python users see is in
// python/ddpsim.

#include "python/module/costs.hpp"
#include "python/module/job.hpp"
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "sim/base/program_exit.hpp"
#include "sim/base/source.hpp"
#include "sim/process/interrupts.hpp"
#include "sim/process/worker_threads.hpp"
#include "sim/result/run_info.hpp"
#include "sim/result/study_row.hpp"
#include "sim/text/presets.hpp"

namespace nb = nanobind;

namespace ddpsim::python {
namespace {

constexpr std::size_t kLargestScenario = std::size_t{4} << 20;  // as for config::load_yaml

// A Python exception for each of ours. ddpsim.InputError reads place and hint out of the whole text, which
// also is all that comes back from a worker process.
void translate(const std::exception_ptr& exception, void*) {
  try {
    std::rethrow_exception(exception);
  } catch (const InputError& error) {
    auto type = nb::module_::import_("ddpsim.errors").attr("InputError");
    PyErr_SetObject(type.ptr(), nb::str(error.what()).ptr());
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const std::exception&) {
    PyErr_SetString(PyExc_RuntimeError, failure_of(exception).message.c_str());
  }
}

// Python's own handler of SIGINT says whether there was one, in its main thread.
void check_signals() {
  nb::gil_scoped_acquire held;
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

std::vector<double> in_bytes(const std::vector<Bytes>& sizes) {
  std::vector<double> bytes;
  for (auto size : sizes) bytes.push_back(size.value());
  return bytes;
}

}  // namespace

NB_MODULE(_core, m) {
  m.doc() = "What ddpsim is made of; use the package ddpsim.";
  nb::register_exception_translator(translate);
  set_interrupt_check(check_signals);
  auto tool = tool_info();
  m.attr("version") = tool.version;

  using Released = nb::call_guard<nb::gil_scoped_release>;
  nb::class_<Result>(m, "Result", "One simulated iteration.")
      .def_prop_ro("iteration_s", &Result::iteration_s)
      .def(
          "interval",
          [](const Result& result, double share) {
            auto [least, most] = result.interval(share);
            return std::pair(least.value(), most.value());
          },
          nb::arg("share"), "The least and most seconds of an iteration, as sure as that.")
      .def("to_json", &Result::to_json, "What `ddpsim simulate --json -` prints.")
      .def("timeline_json", &Result::timeline_json, Released(), "What `ddpsim simulate --timeline` writes.")
      .def("write_timeline", &Result::write_timeline, nb::arg("path"), Released());
  nb::class_<BestCap>(m, "BestCap", "The best bucket cap; sizes in bytes, times in seconds.")
      .def_prop_ro("cap_bytes", [](const BestCap& best) { return best.cap.value(); })
      .def_prop_ro("iteration_s", [](const BestCap& best) { return best.iteration.value(); })
      .def_prop_ro("plateau_least_bytes", [](const BestCap& best) { return best.plateau_least.value(); })
      .def_prop_ro("plateau_most_bytes",
                   [](const BestCap& best) -> std::optional<double> {
                     if (!best.plateau_most) return std::nullopt;
                     return best.plateau_most->value();
                   })
      .def_prop_ro("default_cap_bytes", [](const BestCap& best) { return best.default_cap.value(); })
      .def_prop_ro("with_default_s", [](const BestCap& best) { return best.with_default.value(); })
      .def_ro("tried", &BestCap::tried)
      .def_prop_ro(
          "default_longer",
          [](const BestCap& best) -> std::optional<double> {
            if (!best.default_odds) return std::nullopt;
            return 1 - best.default_odds->p_best;
          },
          "How sure it is that the default takes longer.")
      .def_prop_ro("default_tied", [](const BestCap& best) -> std::optional<bool> {
        if (!best.default_odds) return std::nullopt;
        return best.default_odds->is_tied;
      });
  nb::class_<NextMeasurement>(m, "NextMeasurement", "What could be measured.")
      .def_ro("measure", &NextMeasurement::what)
      .def_ro("command", &NextMeasurement::command)
      .def_ro("width", &NextMeasurement::width, "Of the 80 % interval afterwards, over its lower end.");
  nb::class_<BestCaps>(m, "BestCaps", "The best list of caps beside the best single one.")
      .def_prop_ro("caps_bytes", [](const BestCaps& best) { return in_bytes(best.list.caps); })
      .def_prop_ro("buckets", [](const BestCaps& best) { return best.list.buckets; })
      .def_prop_ro("iteration_s", [](const BestCaps& best) { return best.list.iteration.value(); })
      .def_prop_ro("single_cap_bytes", [](const BestCaps& best) { return in_bytes(best.single.caps).at(0); })
      .def_prop_ro("single_iteration_s", [](const BestCaps& best) { return best.single.iteration.value(); })
      .def_ro("left_out", &BestCaps::left_out);
  nb::class_<Compared>(m, "Compared", "A sweep whose points have been held against one another.")
      .def("to_json", &Compared::to_json, "What `ddpsim sweep --json -` prints.")
      .def("lost", &Compared::lost, "Which points the machine did not let end; empty: none.");
  nb::class_<Job>(m, "Job", "A scenario as text, with what was set on top of it.")
      .def(nb::init<std::string, std::string, std::string, const std::vector<std::string>&>(),
           nb::arg("text"), nb::arg("name"), nb::arg("file"), nb::arg("overrides"), Released())
      .def("with_overrides", &Job::with, nb::arg("overrides"), Released(),
           "The same with more overrides; both know what either has read.")
      .def("launched", &Job::launched, nb::arg("kind"), nb::arg("path"), Released())
      .def("text", &Job::text)
      .def("launch_notes", &Job::launch_notes)
      .def("simulate", &Job::simulate, Released())
      .def("best_cap", &Job::best_cap, nb::arg("exact"), Released())
      .def("best_caps", &Job::best_caps, Released())
      .def("program", &Job::program, Released())
      .def("key", &Job::key, Released())
      .def("software_key", &Job::software_key)
      .def("calibrate", &Job::calibrate, nb::arg("step_s"), nb::arg("path"), nb::arg("accepts_all"),
           Released())
      .def(
          "narrowing", [](const Job& job) { return job.narrowing().all; }, Released(),
          "What to measure next, the best first.")
      .def("compare", &Job::compare, Released(), "Sweeps, all points together.")
      .def("write_report", &Job::write_report, nb::arg("path"), Released(),
           "Sweeps, and writes what `ddpsim sweep --html` does.");
  nb::class_<Points>(m, "Points", "A job's sweep, point by point.")
      .def(nb::init<const Job&, bool>(), nb::arg("job"), nb::arg("all_columns"), Released())
      .def("__len__", &Points::size)
      .def_prop_ro("axes", &Points::axes, "The scenario's keys that are swept.")
      .def_prop_ro("id", &Points::id,
                   "Of the study: another one where a scenario, an axis or a file differs.")
      .def("key", &Points::key, nb::arg("point"), Released())
      .def("rows", &Points::rows, nb::arg("points"), nb::arg("jobs") = all_cores(), Released(),
           "The rows of these points, ascending, a line of JSON each.");

  nb::class_<StudyHead>(m, "StudyHead", "The first line of a study's results.")
      .def_static(
          "read",
          [](const std::string& line, const std::string& path) {
            return read_study_line(line, {make_source(path, ""), 1, 1, 1});
          },
          nb::arg("line"), nb::arg("path"))
      .def_ro("axes", &StudyHead::axes, "The scenario's keys that are swept.")
      .def(
          "check",
          [](const StudyHead& study, const std::string& line, const std::string& path, int number) {
            read_study_row(line, study, {make_source(path, ""), number, 1, 1});
          },
          nb::arg("line"), nb::arg("path"), nb::arg("number"),
          "Raises InputError for a line that is no row of the study.");

  nb::class_<Results>(m, "Results", "The rows of a study on disk.")
      .def(nb::init<const std::string&, bool, const Points&>(), nb::arg("path"), nb::arg("resume"),
           nb::arg("points"), Released())
      .def_prop_ro("notes", &Results::notes)
      .def_prop_ro("rows", &Results::rows, "How many points have one.")
      .def_prop_ro("failed", &Results::failed)
      .def("has", &Results::has, nb::arg("point"))
      .def("append", &Results::append, nb::arg("rows"), Released())
      .def("finish", &Results::finish, Released());

  m.def(
      "load_text",
      [](const std::string& path) { return load_text(path, "a scenario", kLargestScenario).text; },
      nb::arg("path"), Released(), "The text of a scenario's file.");
  m.def(
      "scenario_path",
      [](const std::string& given) { return preset_path(PresetKind::configs, "Job.load", given); },
      nb::arg("name_or_path"), "The file of a scenario that has a name, or the path itself.");
  m.def("key_path", &key_path, nb::arg("word"),
        "The key of a scenario that a word names by itself: cluster.topology of topology.");
  m.def(
      "presets", [](const std::string& kind) { return preset_names(preset_kind(kind)); }, nb::arg("kind"),
      "The names of presets, sorted.");
  add_costs(m);
}

}  // namespace ddpsim::python
