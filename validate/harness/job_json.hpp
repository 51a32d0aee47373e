#pragma once
// Jobs and results as the files that pass between the launcher and the ranks.
#include <string>

#include "validate/harness/step.hpp"

namespace ddpsim::validate {

std::string write_job(const Job& job);
std::string write_run_result(const RunResult& result);

// Throw InputError, naming the file, when it is not what the function above wrote.
Job read_job(const std::string& path);
// Also when the result was not measured on hardware (kVirtualDevice).
RunResult read_run_result(const std::string& path);

}  // namespace ddpsim::validate
