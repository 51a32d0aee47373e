#pragma once
// A line of what a program printed, among what its launcher and NCCL's log print around it.
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "sim/base/source.hpp"

namespace ddpsim::calibrate {

struct ConsoleLine {
  std::string text;             // what a launcher puts before it blanked out
  std::vector<Located> tokens;  // without a '#' at the front
  bool has_log = false;         // of NCCL, behind its tokens
};

// What a launcher puts before every line ("0: " of srun, "[prterun-node-4242@1,0]<stdout>: " of Open MPI 5):
// what stands before the first line of nccl-tests.
std::string launchers_prefix(const SourceFile& source);

// Without that prefix, and without mpirun's "[1,0]<stdout>:" and "[0]".
ConsoleLine console_line(const std::shared_ptr<const SourceFile>& source, std::size_t index,
                         const std::string& prefix);

// Without the tokens of NCCL's log ("node-1:4242:4242 [0] NCCL INFO ..."), whose first one may be glued to
// the last of the line's own: hosts tell where it begins.
ConsoleLine without_log(ConsoleLine line, const std::set<std::string>& hosts);

}  // namespace ddpsim::calibrate
