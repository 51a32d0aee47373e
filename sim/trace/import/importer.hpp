#pragma once
// Other people's measurements as layer traces: one importer a format, all behind this interface.
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/trace/layer_trace.hpp"
#include "sim/trace/recorded_communication.hpp"

namespace ddpsim {

struct ImportRequest {
  std::vector<std::string> inputs;  // paths, as many as the importer reads, in its order
  TraceMetadata metadata;           // what the user says, before what the inputs say
  // The user's choices; an importer is given only those it has (TraceImporter::choices).
  std::optional<std::string> statistic;  // "mean" or "median"
  std::optional<DType> dtype;
  bool untied = false;
  std::function<void(double)> progress;  // told the share of the inputs read so far, 0 to 1; may be empty
};

struct ImportedTrace {
  LayerTrace trace;
  std::optional<RecordedCommunication> communication;  // the collectives recorded beside the backward pass
  std::vector<std::string> remarks;  // what the user should know: a whole sentence each, for stderr
};

struct TraceImporter {
  std::string_view name;                        // "layer-times": --format
  std::vector<std::string_view> inputs;         // "SIZES.csv", "TIMES.csv": what it reads
  std::string_view summary;                     // a few words for --help
  std::vector<std::string_view> choices;        // of "--statistic", "--dtype", "--untied", "--collectives",
                                                // "--recorded": those it understands
  ImportedTrace (*read)(const ImportRequest&);  // throws InputError
};

// All of them, in the order in which --help lists them.
std::span<const TraceImporter> trace_importers();

// The importer of that name; throws InputError that lists the names.
const TraceImporter& find_importer(std::string_view name);

// Throws InputError unless the option means something to the importer.
void check_understands(const TraceImporter& importer, std::string_view option);

// Checks the request against what the importer reads and understands, then reads. Throws InputError.
ImportedTrace import_trace(const TraceImporter& importer, const ImportRequest& request);

}  // namespace ddpsim
