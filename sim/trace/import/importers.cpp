#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/source.hpp"
#include "sim/base/suggest.hpp"
#include "sim/trace/import/importer.hpp"
#include "sim/trace/import/layer_times.hpp"
#include "sim/trace/import/operator_table.hpp"
#include "sim/trace/import/pytorch_profiler/importer.hpp"

namespace ddpsim {
namespace {

// The choices the user made, as the options that make them.
std::vector<std::string_view> chosen(const ImportRequest& request) {
  std::vector<std::string_view> options;
  if (request.statistic) options.emplace_back("--statistic");
  if (request.dtype) options.emplace_back("--dtype");
  if (request.untied) options.emplace_back("--untied");
  return options;
}

}  // namespace

std::span<const TraceImporter> trace_importers() {
  static const std::vector<TraceImporter> importers{layer_times_importer(), pytorch_profiler_importer(),
                                                    operator_table_importer()};
  return importers;
}

const TraceImporter& find_importer(std::string_view name) {
  std::vector<std::string> names;
  for (const auto& importer : trace_importers()) {
    if (importer.name == name) return importer;
    names.emplace_back(importer.name);
  }
  throw InputError(fmt::format("unknown format '{}'{}", name, did_you_mean(std::string(name), names)),
                   fmt::format("the formats are {}", fmt::join(names, ", ")));
}

void check_understands(const TraceImporter& importer, std::string_view option) {
  if (std::find(importer.choices.begin(), importer.choices.end(), option) != importer.choices.end()) return;
  throw InputError(fmt::format("{} means nothing to --format {}", option, importer.name),
                   importer.choices.empty()
                       ? std::string("leave it out")
                       : fmt::format("it understands {}", fmt::join(importer.choices, ", ")));
}

ImportedTrace import_trace(const TraceImporter& importer, const ImportRequest& request) {
  if (request.inputs.size() != importer.inputs.size())
    throw InputError(fmt::format("--format {} reads {} file{}: {}", importer.name, importer.inputs.size(),
                                 importer.inputs.size() == 1 ? "" : "s", fmt::join(importer.inputs, " ")),
                     "see 'ddpsim trace import --help'");
  for (auto option : chosen(request)) check_understands(importer, option);
  return importer.read(request);
}

}  // namespace ddpsim
