#include "sim/collective/schedule.hpp"

#include <algorithm>
#include <cmath>

#include "sim/base/check.hpp"

namespace ddpsim {
Transfer ring_transfer(Operation operation, int n, int position, int step) {
  DDPSIM_CHECK(!sends_directly(operation) && !is_chain(operation), "a ring reduces, scatters or gathers");
  auto modulo = [n](int x) { return ((x % n) + n) % n; };
  // Reduce-scatter: position p starts with chunk p and passes on what it received last; after n-1 steps it
  // holds the whole sum of chunk p+1. All-gather then starts from there.
  int scattering = reduces(operation) ? n - 1 : 0;
  if (step < scattering) return {modulo(position - step), true};
  return {modulo(position + 1 - (step - scattering)), false};
}

Chunking chunking_of(const Channel& channel, Operation operation) {
  Chunking chunking{channel.pattern, operation,
                    channel.part,    static_cast<int>(channel.edges.size()),
                    channel.depth,   channel.edges.front().piece.of,
                    channel.cut};
  for (const auto& edge : channel.edges)
    chunking.largest_piece = std::min(chunking.largest_piece, edge.piece.of);
  return chunking;
}

int Chunking::steps(Bytes buffer) const {
  if (pattern == Pattern::ring) return ring_steps(operation, ring_size);
  return pipeline_chunks(cut * (buffer / part.of) / largest_piece, depth);
}

Bytes Chunking::chunk(Bytes buffer) const {
  return buffer / part.of / (pattern == Pattern::ring ? ring_size : steps(buffer));
}

int pipeline_chunks(Bytes bytes, int depth) {
  if (depth == 1) return 1;  // nothing to fill: a message of its own
  // NCCL's src/enqueue.cc, tree all-reduce under the Simple protocol: chunks of one slot of the buffer
  // (src/include/comm.h: NCCL_STEPS; src/init.cc: DEFAULT_BUFFSIZE), halved down to these sizes while the
  // pipeline has fewer chunks than so many for each level of the tree.
  constexpr double slot = 4194304.0 / 8;
  struct Rule {
    double smallest;
    int chunks_per_level;
  };
  constexpr Rule rules[] = {{131072, 8}, {65536, 4}, {32768, 1}};
  // Its depth is that of the tree (src/graph/connect.cc); a chunk goes up and down again: twice that.
  int levels = (depth + 1) / 2;
  double chunk = slot;
  for (auto [smallest, chunks_per_level] : rules)
    while (bytes.value() / chunk < levels * chunks_per_level && chunk > smallest) chunk /= 2;
  constexpr double most = 1 << 16;  // 32 GiB; beyond, the chunks grow
  return static_cast<int>(std::clamp(std::ceil(bytes.value() / chunk), 1.0, most));
}

}  // namespace ddpsim
