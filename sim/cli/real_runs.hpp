#pragma once
// Runs jobs on the ranks that a scenario's section `validation` asks for.
#include <memory>
#include <string>

#include "validate/harness/step.hpp"
#include "validate/launch/launcher.hpp"

#include "sim/engine/validation_settings.hpp"

namespace ddpsim::cli {

class RealRuns {
 public:
  // Finds the backend's program and builds the testbed, if one is asked for. Throws BackendMissing where the
  // backend is not there; a testbed that cannot be built becomes a note and plain loopback.
  RealRuns(const ValidationSettings& settings, int world_size, bool one_process, bool quiet);

  // All ranks of this machine do it. What rank 0 measured where that is here; else nothing, and this process
  // has nothing more to report. Throws RunFailed, naming the rank, when it goes wrong.
  std::optional<validate::RunResult> run(const validate::Job& job);

  [[nodiscard]] Backend backend() const { return backend_; }
  // "gloo, 8 ranks, tbf 1 Gbit/s ...".
  [[nodiscard]] std::string describe() const;

 private:
  [[nodiscard]] std::string network() const;

  Backend backend_;
  std::string program_;
  int world_size_;
  bool one_process_, quiet_;
  bool shaped_ = false;  // the ranks are on a testbed
  std::unique_ptr<validate::RankNetwork> network_;
  std::optional<validate::Placement> joined_;  // where somebody else started us as one rank of many
  int runs_ = 0;
};

}  // namespace ddpsim::cli
