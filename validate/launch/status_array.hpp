#pragma once
#include <cstddef>

#include "validate/harness/rank_status.hpp"

#include "sim/base/descriptor.hpp"

namespace ddpsim::validate {

// The launcher's side of RankStatus: an entry for each rank of the run, in an anonymous file. The descriptor
// is closed in programs that do not ask for it.
class StatusArray {
 public:
  explicit StatusArray(int world_size);  // throws RunFailed
  ~StatusArray();
  StatusArray(const StatusArray&) = delete;
  StatusArray& operator=(const StatusArray&) = delete;
  [[nodiscard]] const RankStatus& operator[](int rank) const { return entries_[rank]; }
  [[nodiscard]] int descriptor() const { return file_.get(); }

 private:
  Descriptor file_;
  std::size_t bytes_;
  const RankStatus* entries_;
};

}  // namespace ddpsim::validate
