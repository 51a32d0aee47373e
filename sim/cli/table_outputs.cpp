#include "sim/cli/table_outputs.hpp"

#include "sim/cli/scenario_options.hpp"

namespace ddpsim::cli {

void TableOutputs::add_to(Command& command) {
  command.options.push_back(
      output_option("--json", &json, "Write the result as JSON; '-' is standard output", "PATH|-"));
  command.options.push_back(
      output_option("--csv", &csv, "Write the table as CSV; '-' is standard output", "PATH|-"));
}

void TableOutputs::check(std::vector<std::pair<std::string, std::string>> more) const {
  more.emplace_back("--json", json);
  more.emplace_back("--csv", csv);
  check_outputs(more);
}

void TableOutputs::write(const std::function<std::string()>& as_json,
                         const std::function<std::string()>& as_csv) const {
  OutputPhase writing;
  write_output(json, as_json);
  write_output(csv, as_csv);
}

}  // namespace ddpsim::cli
