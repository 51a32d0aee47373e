#pragma once
// NCCL's symmetric kernels: what it runs inside one NVLink domain on buffers in symmetric windows
// (ncclMemAlloc, ncclCommWindowRegister), whatever its tuner would choose. Source: github.com/NVIDIA/nccl,
// tags v2.27.3-1 (src/symmetric.cc) to v2.30.7-1 (src/sym_kernels.cc), whose figures are the same: an
// estimate of every kernel's time, the fewest blocks within 2.5 % of it, and the kernel with the least time,
// 2.5 % dearer with each block. Uncalibrated; docs/nccl.md ("Symmetric kernels") has the formulas and how
// far they are from the figures that the sources had before 2.27.3.
#include <optional>
#include <vector>

#include "sim/nccl/lines.hpp"
#include "sim/nccl/tuner.hpp"

namespace ddpsim::nccl {

inline constexpr Version kFirstSymmetric{2, 27, 3};

// Whether there are such kernels for it.
inline bool has_symmetric(Operation operation) {
  return !is_chain(operation) && !sends_directly(operation);
}

// Throws InputError (without a place) where NCCL has no symmetric kernels, or says nothing of their times.
void require_symmetric(const Communicator& communicator, const Allowed& allowed);

class SymmetricKernels {
 public:
  // `lines`: of the machine's all-reduces; NVLS's large messages say what its switches give to a kernel that
  // reduces in them, of which NCCL's estimate takes a busbw for bytes over links.
  SymmetricKernels(const Communicator& communicator, Collective collective, const RingLines& lines);

  // None: the operation has none, or the message is too large for them.
  struct Choice {
    const Candidate* candidate;
    Seconds time;
    int blocks;
  };
  [[nodiscard]] std::optional<Choice> choose(Bytes bytes) const;
  [[nodiscard]] Seconds time(const Candidate& candidate, Bytes bytes) const;
  // With the channels, the latency and the bandwidth of a kernel's largest messages.
  [[nodiscard]] const std::vector<Candidate>& candidates() const { return candidates_; }

 private:
  struct Kernel {
    double bytes;       // over a GPU's links for a byte of the buffer, as NCCL counts them
    double latency;     // us
    double block;       // bytes/us of one block
    double multiplier;  // of blocks: what the switch adds
    double peak;        // bytes/us of all blocks
    double links;       // bytes/us that the links give
    int most_blocks;
  };
  struct Estimate {
    double time;  // us
    int blocks;
  };
  [[nodiscard]] bool has(Algorithm algorithm, Protocol protocol) const;
  [[nodiscard]] Kernel kernel(Algorithm algorithm, Protocol protocol, const RingLines& lines) const;
  [[nodiscard]] static Estimate estimate(const Kernel& kernel, double bytes);

  Communicator communicator_;
  Collective collective_;
  std::vector<Candidate> candidates_;
  std::vector<Kernel> kernels_;  // of each candidate
};

}  // namespace ddpsim::nccl
