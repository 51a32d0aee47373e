#pragma once
// The formats of measured tables, one reader each. Rows come out in the file's order, with the
// units of the file applied and every number checked; finish_tables (table_parts.hpp) does what concerns a
// table as a whole.
#include <memory>
#include <string_view>
#include <vector>

#include "sim/base/csv.hpp"
#include "sim/calibrate/collective_table.hpp"
#include "sim/config/located_json.hpp"

namespace ddpsim::calibrate {

inline constexpr std::string_view kKnownFormats =
    "known are the output of nccl-tests (text or JSON), CSV or JSON with a column of sizes (bytes, size_KiB) "
    "and one of times (time_us, latency_ms), '# ddpsim-allreduce: 1', and the profiles of aiconfigurator and "
    "Galvatron";

// What nccl-tests prints, several runs in one text included.
bool is_nccl_tests_console(const std::shared_ptr<const SourceFile>& source);
std::vector<CollectiveTable> read_nccl_tests_console(const std::shared_ptr<const SourceFile>& source);

// What nccl-tests writes with --output_file (-J).
bool is_nccl_tests_json(const JsonValue& root);
std::vector<CollectiveTable> read_nccl_tests_json(const JsonValue& root);

// The profiles of aiconfigurator (github.com/ai-dynamo/aiconfigurator): sizes in elements, times in ms.
bool is_aiconfigurator(const CsvTable& table);
std::vector<CollectiveTable> read_aiconfigurator(const CsvTable& table);

// Galvatron's flat object of "allreduce_size_8_1MB_time" (github.com/PKU-DAIR/Hetu-Galvatron): MiB and ms.
bool is_galvatron(const JsonValue& root);
std::vector<CollectiveTable> read_galvatron(const JsonValue& root);

// A table that names its columns and their units, from CSV or from JSON.
std::vector<CollectiveTable> read_column_table(const CsvTable& table);
bool has_json_rows(const JsonValue& root);
CsvTable json_rows(const JsonValue& root);  // [{...}, ...] or {"world_size": 8, "rows": [{...}, ...]}

}  // namespace ddpsim::calibrate
