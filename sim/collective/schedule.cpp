#include "sim/collective/schedule.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "sim/base/check.hpp"

namespace ddpsim {
namespace {

Bytes part_bytes(const Channel& channel, Bytes buffer) {
  return buffer / static_cast<double>(channel.part.of);
}

// The denominator of the largest piece of a chunk that an edge carries.
int largest_piece(const Channel& channel) {
  return std::min_element(channel.edges.begin(), channel.edges.end(),
                          [](const Edge& a, const Edge& b) { return a.piece.of < b.piece.of; })
      ->piece.of;
}

}  // namespace

Transfer ring_transfer(Operation operation, int n, int position, int step) {
  DDPSIM_CHECK(operation != Operation::broadcast, "a ring reduces, scatters or gathers");
  auto modulo = [n](int x) { return ((x % n) + n) % n; };
  // Reduce-scatter: position p starts with chunk p and passes on what it received last; after n-1 steps it
  // holds the whole sum of chunk p+1. All-gather then starts from there.
  bool gathering =
      operation == Operation::all_gather || (operation == Operation::all_reduce && step >= n - 1);
  if (!gathering) return {modulo(position - step), true};
  int gather_step = operation == Operation::all_reduce ? step - (n - 1) : step;
  return {modulo(position + 1 - gather_step), false};
}

int step_count(const Channel& channel, Operation operation, Bytes buffer) {
  if (channel.pattern == Pattern::pipeline)
    return pipeline_chunks(part_bytes(channel, buffer) / static_cast<double>(largest_piece(channel)),
                           channel.depth);
  int n = static_cast<int>(channel.edges.size());
  return operation == Operation::all_reduce ? 2 * (n - 1) : n - 1;
}

Bytes chunk_bytes(const Channel& channel, Operation operation, Bytes buffer) {
  auto chunks = channel.pattern == Pattern::ring
                    ? channel.edges.size()
                    : static_cast<std::size_t>(step_count(channel, operation, buffer));
  return part_bytes(channel, buffer) / static_cast<double>(chunks);
}

int pipeline_chunks(Bytes bytes, int depth) {
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
  return static_cast<int>(std::clamp(std::ceil(bytes.value() / chunk), 1.0,
                                     static_cast<double>(std::numeric_limits<int>::max())));
}

}  // namespace ddpsim
