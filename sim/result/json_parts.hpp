#pragma once
// What the JSON of several results has in common. Keys stay in the order of their fields, and what they name
// has to live as long as those.
#include <string>
#include <vector>

#include "sim/result/columns.hpp"
#include "sim/result/run_info.hpp"

namespace ddpsim::json {

void append(Cell::Fields& fields, const Cell::Fields& more);

// {"ddp.bucket_cap": "25MiB", ...}, as written.
Cell::Fields axes(const std::vector<std::string>& axes, const std::vector<std::string>& values);
Cell::Fields scenario(const ScenarioInfo& scenario);
Cell::List notes(const std::vector<Note>& notes);  // [{code, text}]
Cell::Fields tool(const ToolInfo& tool);

// The whole file. File names need not be UTF-8; what is not becomes a replacement character.
std::string text_of(const Cell::Fields& fields);
// On one line.
std::string line_of(const Cell::Fields& fields);

}  // namespace ddpsim::json
