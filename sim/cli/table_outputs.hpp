#pragma once
// --json and --csv of a command that prints tables.
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "sim/command_line/command_line.hpp"

namespace ddpsim::cli {

struct TableOutputs {
  std::string json, csv;  // a path, or "-" for standard output; empty: not wanted

  void add_to(Command& command);
  // Throws InputError for outputs that cannot be written; `more` are the command's others as (option, path).
  void check(std::vector<std::pair<std::string, std::string>> more = {}) const;
  // False where standard output is one of them.
  [[nodiscard]] bool prints() const { return json != "-" && csv != "-"; }
  void write(const std::function<std::string()>& as_json, const std::function<std::string()>& as_csv) const;
};

}  // namespace ddpsim::cli
