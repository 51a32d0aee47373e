#pragma once
// A collective as data: what moves over which edge, and what has to be there before. Built and verified
// without an engine, costed by the closed form, executed by the simulators.
#include <string>
#include <vector>

#include <boost/container/small_vector.hpp>

#include "sim/base/operation.hpp"
#include "sim/base/units.hpp"

namespace ddpsim {

// A fraction of something: of `of` equal parts `count`, from the index-th on.
struct Part {
  int index = 0;
  int of = 1;
  int count = 1;
  [[nodiscard]] double share() const { return 1.0 * count / of; }
};

// From one rank to another: the links it occupies (ids of the cluster's links), the latency a message pays
// on them together, and the bandwidth of the narrowest.
struct Edge {
  // Of a few without a block of memory: schedules have an edge a rank and channel.
  template <int n>
  using Few = boost::container::small_vector<int, n>;

  // A rank; from CollectiveSchedule::ranks on, what is in no rank's buffer: a switch that reduces or
  // multicasts, a sum that a rank passes on.
  int from = 0;
  int to = 0;
  Few<4> route;
  Seconds latency;
  BytesPerSecond bandwidth;
  // Of a pipeline only (a ring's follow from ring_transfer):
  Few<2> inputs = {};   // edges of the channel that deliver a chunk before this one passes it on
  bool reduce = false;  // whether the receiver adds the chunk to its own or replaces its own
  Part piece = {};      // which part of each chunk it carries
};

// ring: edges[i] leads into edges[i + 1], the last into the first; the channel's part of the buffer is cut
// into as many chunks as there are edges, and in each step every edge carries one.
// pipeline: the part is cut into chunks (pipeline_chunks); every edge carries its piece of each of them once,
// in order, after its inputs have delivered that chunk. A pipeline advances in rounds: in each, every edge
// that has a chunk to pass on carries one, and the next round starts when all have arrived. (Without rounds
// the edges of a tree that share links behave chaotically: a change of one bandwidth by 1e-15 changes the
// time by a percent; see docs/model.md.)
// exchange: every edge sends at once its piece of what its rank had when the stage began.
enum class Pattern { ring, pipeline, exchange };

struct Channel {
  Pattern pattern = Pattern::ring;
  Part part;  // of the buffer
  std::vector<Edge> edges;
  int depth = 0;  // of a pipeline: edges on its longest path; 1 of an exchange
  int cut = 1;    // into so many channels a larger one was cut, whose number of chunks each has
};

// All channels of a stage run at once; the stage ends when all have ended.
struct Stage {
  Operation operation{};
  std::vector<Channel> channels;
};

struct CollectiveSchedule {
  std::string algorithm;  // "ring"
  Operation operation{};
  int ranks = 0;
  std::vector<Stage> stages;
};

// What one position of a ring of `n` sends in `step`: which n-th of the channel's part, and whether the
// receiver adds it to its own (reduce) or replaces its own (copy).
struct Transfer {
  int chunk;
  bool reduce;
};
Transfer ring_transfer(Operation operation, int n, int position, int step);

// Into what a channel cuts its part of the buffer.
struct Chunking {
  Pattern pattern;
  Operation operation;
  Part part;
  int ring_size;      // of a ring: its edges
  int depth;          // of a pipeline
  int largest_piece;  // of a pipeline: the denominator of the largest piece of a chunk that an edge carries
  int cut = 1;        // of a pipeline: of the channel that its part was cut from

  // How often each edge sends. Ring: 2(n-1) steps to all-reduce, n-1 to reduce-scatter or all-gather.
  // Pipeline: pipeline_chunks of its largest piece.
  [[nodiscard]] int steps(Bytes buffer) const;
  // What an edge sends in one step if its piece is all of the chunk.
  [[nodiscard]] Bytes chunk(Bytes buffer) const;
};
Chunking chunking_of(const Channel& channel, Operation operation);

// How many chunks a pipeline of `depth` edges cuts `bytes` into: small enough to fill it, as NCCL chooses
// for its trees; one where no edge waits for another.
int pipeline_chunks(Bytes bytes, int depth);

}  // namespace ddpsim
