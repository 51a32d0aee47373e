#pragma once
// What the JSON of several results has in common; nlohmann::ordered_json keeps the order of the keys.
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "sim/report/result_json.hpp"

namespace ddpsim::json {

using Json = nlohmann::ordered_json;

Json bytes(Bytes bytes);  // a whole number
Json number_or_null(const std::optional<double>& value);

// {"ddp.bucket_cap": "25MiB", ...}, as written.
Json axes(const std::vector<std::string>& axes, const std::vector<std::string>& values);
// All keys of a point but its axes and what was measured of it.
Json memory_json(const MemoryMetrics& memory);
void add_metrics(const IterationMetrics& metrics, Json& point);
// When a collective was ready, started and ended, and how it was carried out.
void add_times(const BucketMetrics& bucket, Json& collective);

Json scenario(const ScenarioInfo& scenario);
Json notes(const std::vector<Note>& notes);  // [{code, text}]
Json tool(const ToolInfo& tool);

// The whole file. File names need not be UTF-8; what is not becomes a replacement character.
std::string text_of(const Json& json);

}  // namespace ddpsim::json
