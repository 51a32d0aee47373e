#pragma once
// A process that is one rank of a run, or several: how it is started, what it writes, how it ends.
#include <optional>
#include <string>

#include "validate/launch/launcher.hpp"
#include <sys/types.h>

#include "sim/base/descriptor.hpp"

namespace ddpsim::validate {

// The ranks [first, first + count).
struct RankRange {
  int first = 0, count = 1;
  [[nodiscard]] std::string name() const;  // "rank 3", "the process of ranks 0 to 3"
};

struct ProcessEnd {
  enum class How { exited, killed, stopped };  // stopped: it still exists
  How how = How::exited;
  int number = 0;  // exit code, or signal
};

class RankProcess {
 public:
  // Starts it, in a process group of its own. `local_rank` is the first one's. Throws RunFailed.
  RankProcess(const LaunchOptions& options, const RankNetwork& network, RankRange ranks, int local_rank,
              int status_descriptor);
  ~RankProcess();  // kills it and waits for its end
  RankProcess(const RankProcess&) = delete;
  RankProcess& operator=(const RankProcess&) = delete;

  [[nodiscard]] const RankRange& ranks() const { return ranks_; }
  // Whatever there is to read has been read when it returns. True when the process is stopped, or has ended
  // with all of its group.
  std::optional<ProcessEnd> check();
  void read_output();
  [[nodiscard]] bool running() const { return process_ > 0; }
  [[nodiscard]] int output_descriptor() const { return output_.get(); }  // -1 once it is closed
  [[nodiscard]] const std::string& output() const { return written_; }   // the last of it
  void kill_group() const;

 private:
  void reap();

  RankRange ranks_;
  pid_t process_ = 0;  // 0 once it was waited for
  Descriptor output_;
  std::string written_;
};

}  // namespace ddpsim::validate
