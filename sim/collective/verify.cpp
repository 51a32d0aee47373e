#include "sim/collective/verify.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "sim/base/check.hpp"
#include "sim/collective/schedule_structure.hpp"
#include "sim/collective/slots.hpp"

namespace ddpsim {
namespace {

using Error = std::optional<std::string>;

// Pieces of the buffer, from begin to before end.
struct Range {
  int begin;
  int end;
};

Range cut(Range range, Part part) {
  int length = (range.end - range.begin) / part.of;
  return {range.begin + part.index * length, range.begin + (part.index + part.count) * length};
}

// The coarsest cut of the buffer in which everything any edge sends is whole pieces.
int piece_count(const CollectiveSchedule& schedule) {
  std::int64_t pieces = 1;
  if (is_in_parts(schedule.operation)) pieces = schedule.ranks;
  for (const auto& stage : schedule.stages)
    for (const auto& channel : stage.channels) {
      std::int64_t cuts =
          channel.pattern == Pattern::ring ? static_cast<std::int64_t>(channel.edges.size()) : 1;
      if (channel.pattern != Pattern::ring)
        for (const auto& edge : channel.edges) cuts = std::lcm(cuts, edge.piece.of);
      pieces = std::lcm(pieces, channel.part.of * cuts);
      DDPSIM_CHECK(pieces <= 1'000'000, "too fine a cut of the buffer to verify");
    }
  return static_cast<int>(pieces);
}

// How often each rank's contribution is in each piece at each rank and switch.
class Buffers {
 public:
  Buffers(int ranks, int pieces) : ranks_(ranks), pieces_(pieces) {
    for (int rank = 0; rank < ranks; ++rank)
      for (int piece = 0; piece < pieces; ++piece) at(rank, piece)[rank] = 1;
  }
  std::span<int> at(int vertex, int piece) {
    auto [it, is_new] = counts_.try_emplace(vertex);
    if (is_new) it->second.resize(std::size_t(pieces_) * std::size_t(ranks_), 0);
    return std::span(it->second).subspan(std::size_t(piece) * std::size_t(ranks_), std::size_t(ranks_));
  }
  void empty_switches() { counts_.erase(counts_.lower_bound(ranks_), counts_.end()); }
  [[nodiscard]] int ranks() const { return ranks_; }
  [[nodiscard]] int pieces() const { return pieces_; }

 private:
  int ranks_, pieces_;
  std::map<int, std::vector<int>> counts_;  // [vertex][piece * ranks + contributing rank]
};

// Whether it changed anything at the receiver.
bool deliver(std::span<const int> sent, std::span<int> kept, bool reduce) {
  constexpr int many = 1'000'000;  // wrong schedules double counts; stay clear of overflow
  bool changed = false;
  for (std::size_t i = 0; i < kept.size(); ++i) {
    int value = reduce ? std::min(kept[i] + sent[i], many) : sent[i];
    changed = changed || value != kept[i];
    kept[i] = value;
  }
  return changed;
}

// On its way: all send before any receives.
struct Sent {
  int to, piece;
  bool reduce;
  std::vector<int> contributions;
};

Error execute_ring(Operation operation, const Channel& ring, Buffers& buffers) {
  Range part = cut({0, buffers.pieces()}, ring.part);
  int n = static_cast<int>(ring.edges.size());
  int steps = chunking_of(ring, operation).steps(Bytes(1));
  for (int step = 0; step < steps; ++step) {
    std::vector<Sent> messages;
    for (int position = 0; position < n; ++position) {
      const Edge& edge = ring.edges[position];
      auto [chunk, reduce] = ring_transfer(operation, n, position, step);
      Range sent = cut(part, {chunk, n});
      for (int piece = sent.begin; piece < sent.end; ++piece) {
        auto counts = buffers.at(edge.from, piece);
        messages.push_back({edge.to, piece, reduce, {counts.begin(), counts.end()}});
      }
    }
    bool changed = false;
    for (const auto& message : messages)
      changed =
          deliver(message.contributions, buffers.at(message.to, message.piece), message.reduce) || changed;
    if (!changed) return fmt::format("step {} changes nothing", step);
  }
  return std::nullopt;
}

Error execute_exchange(const Channel& exchange, Buffers& buffers) {
  Range part = cut({0, buffers.pieces()}, exchange.part);
  std::vector<Sent> messages;
  for (const auto& edge : exchange.edges) {
    Range sent = cut(part, edge.piece);
    for (int piece = sent.begin; piece < sent.end; ++piece) {
      auto counts = buffers.at(edge.from, piece);
      messages.push_back({edge.to, piece, edge.reduce, {counts.begin(), counts.end()}});
    }
  }
  // Some may send what their receivers have, as Open MPI's do.
  bool changed = false;
  for (const auto& sent : messages)
    changed = deliver(sent.contributions, buffers.at(sent.to, sent.piece), sent.reduce) || changed;
  return changed ? std::nullopt : Error("an exchange that changes nothing");
}

Error execute_pipeline(const CollectiveSchedule& schedule, const Channel& pipeline, Buffers& buffers) {
  Range part = cut({0, buffers.pieces()}, pipeline.part);
  for (int e : delivery_order(pipeline)) {
    const Edge& edge = pipeline.edges[e];
    Range sent = cut(part, edge.piece);
    bool changed = false;
    for (int piece = sent.begin; piece < sent.end; ++piece) {
      auto counts = buffers.at(edge.from, piece);
      if (edge.from >= schedule.ranks && std::ranges::all_of(counts, [](int count) { return count == 0; }))
        return fmt::format("edge {} passes on piece {} of {}, which nothing has delivered to {}", e, piece,
                           buffers.pieces(), vertex_name(schedule, edge.from));
      changed = deliver(counts, buffers.at(edge.to, piece), edge.reduce) || changed;
    }
    if (!changed) return fmt::format("edge {} changes nothing", e);
  }
  return std::nullopt;
}

Error execute_channel(const CollectiveSchedule& schedule, const Stage& stage, const Channel& channel,
                      Buffers& buffers) {
  switch (channel.pattern) {
    case Pattern::ring:
      return execute_ring(stage.operation, channel, buffers);
    case Pattern::exchange:
      return execute_exchange(channel, buffers);
    case Pattern::pipeline:
      break;
  }
  return execute_pipeline(schedule, channel, buffers);
}

// Channels run at once, so none may change what another reads or changes: then their order does not matter.
class Claims {
 public:
  explicit Claims(int pieces) : pieces_(pieces) {}
  // The other channel that this one would disturb, or be disturbed by.
  std::optional<std::pair<int, int>> claim(int channel, const Edge& edge, Range sent) {
    for (int piece = sent.begin; piece < sent.end; ++piece) {
      if (auto other = note(channel, edge.from, piece, false)) return std::pair(*other, piece);
      if (auto other = note(channel, edge.to, piece, true)) return std::pair(*other, piece);
    }
    return std::nullopt;
  }

 private:
  struct Use {
    int channel = -1;
    bool changes = false;
  };
  std::optional<int> note(int channel, int vertex, int piece, bool changes) {
    auto& uses = uses_[vertex];
    uses.resize(pieces_);
    Use& use = uses[piece];
    if (use.channel >= 0 && use.channel != channel && (changes || use.changes)) return use.channel;
    use.channel = channel;
    use.changes = use.changes || changes;
    return std::nullopt;
  }
  int pieces_;
  std::map<int, std::vector<Use>> uses_;
};

Error find_conflict(const CollectiveSchedule& schedule, const Stage& stage, int pieces) {
  Claims claims(pieces);
  std::vector<bool> covered(pieces, false);
  for (int c = 0; c < static_cast<int>(stage.channels.size()); ++c) {
    const Channel& channel = stage.channels[c];
    Range part = cut({0, pieces}, channel.part);
    std::fill(covered.begin() + part.begin, covered.begin() + part.end, true);
    for (const auto& edge : channel.edges) {
      Range used = channel.pattern == Pattern::ring ? part : cut(part, edge.piece);
      if (auto conflict = claims.claim(c, edge, used))
        return fmt::format("channels {} and {} both work on piece {} of {} between {} and {}",
                           conflict->first, c, conflict->second, pieces, vertex_name(schedule, edge.from),
                           vertex_name(schedule, edge.to));
    }
  }
  auto gap = std::find(covered.begin(), covered.end(), false);
  if (gap != covered.end())
    return fmt::format("no channel carries piece {} of {}", gap - covered.begin(), pieces);
  return std::nullopt;
}

Error execute(const CollectiveSchedule& schedule, Buffers& buffers) {
  for (std::size_t s = 0; s < schedule.stages.size(); ++s) {
    const Stage& stage = schedule.stages[s];
    if (auto error = find_conflict(schedule, stage, buffers.pieces()))
      return fmt::format("stage {}: {}", s, *error);
    buffers.empty_switches();
    for (std::size_t c = 0; c < stage.channels.size(); ++c) {
      const Channel& channel = stage.channels[c];
      Error error = execute_channel(schedule, stage, channel, buffers);
      if (error) return fmt::format("stage {}, channel {}: {}", s, c, *error);
    }
  }
  return std::nullopt;
}

// Whether the piece is the sum of exactly these ranks' contributions; else what is wrong with it.
Error find_piece_error(Buffers& buffers, int rank, int piece, auto is_in) {
  auto counts = buffers.at(rank, piece);
  for (int from = 0; from < buffers.ranks(); ++from)
    if (counts[from] != (is_in(from) ? 1 : 0))
      return fmt::format("rank {}, piece {} of {}: contribution of rank {} counted {} times", rank, piece,
                         buffers.pieces(), from, counts[from]);
  return std::nullopt;
}

constexpr auto everyone = [](int) { return true; };

Error check_all_reduce(Buffers& buffers) {
  for (int rank = 0; rank < buffers.ranks(); ++rank)
    for (int piece = 0; piece < buffers.pieces(); ++piece)
      if (auto error = find_piece_error(buffers, rank, piece, everyone)) return error;
  return std::nullopt;
}

Error check_balance(const Buffers& buffers, const std::vector<int>& pieces_of) {
  int share = buffers.pieces() / buffers.ranks();
  for (int rank = 0; rank < buffers.ranks(); ++rank)
    if (pieces_of[rank] != share)
      return fmt::format("rank {} owns {} of {} pieces, not {}", rank, pieces_of[rank], buffers.pieces(),
                         share);
  return std::nullopt;
}

Error check_reduce_scatter(const CollectiveSchedule& schedule, Buffers& buffers) {
  std::vector<int> pieces_of(buffers.ranks(), 0);
  for (int piece = 0; piece < buffers.pieces(); ++piece) {
    bool complete = false;
    for (int rank = 0; rank < buffers.ranks(); ++rank)
      if (!find_piece_error(buffers, rank, piece, everyone)) {
        complete = true;
        ++pieces_of[rank];
      }
    if (!complete) return fmt::format("no rank has all of piece {} of {}", piece, buffers.pieces());
  }
  // The one of a pair that acts for both keeps a copy of the other's.
  int share = buffers.pieces() / buffers.ranks();
  if (is_in_rounds(schedule))
    for (int& pieces : pieces_of)
      if (pieces == 2 * share) pieces = share;
  return check_balance(buffers, pieces_of);
}

// Every rank starts with a buffer of its own; what rank 0 ends with tells whose each piece is.
Error check_all_gather(Buffers& buffers) {
  std::vector<int> pieces_of(buffers.ranks(), 0);
  for (int piece = 0; piece < buffers.pieces(); ++piece) {
    auto counts = buffers.at(0, piece);
    int owner = static_cast<int>(std::find(counts.begin(), counts.end(), 1) - counts.begin());
    for (int rank = 0; rank < buffers.ranks(); ++rank)
      if (auto error = find_piece_error(buffers, rank, piece, [&](int from) { return from == owner; }))
        return error;
    ++pieces_of[owner];
  }
  return check_balance(buffers, pieces_of);
}

Error check_broadcast(Buffers& buffers, int root) {
  for (int rank = 0; rank < buffers.ranks(); ++rank)
    for (int piece = 0; piece < buffers.pieces(); ++piece)
      if (auto error = find_piece_error(buffers, rank, piece, [root](int from) { return from == root; }))
        return error;
  return std::nullopt;
}

Error check_reduce(Buffers& buffers, int root) {
  for (int piece = 0; piece < buffers.pieces(); ++piece)
    if (auto error = find_piece_error(buffers, root, piece, everyone)) return error;
  return std::nullopt;
}

// Rank r's n-th of the buffer at rank 0 is its own, or rank 0's at rank r.
Error check_fan(const CollectiveSchedule& schedule, Buffers& buffers) {
  bool to_root = traits_of(schedule.operation).root == Root::to;
  for (int rank = 0; rank < buffers.ranks(); ++rank) {
    int at = to_root ? 0 : rank, owner = to_root ? rank : 0;
    Range own = cut({0, buffers.pieces()}, {rank, buffers.ranks()});
    for (int piece = own.begin; piece < own.end; ++piece)
      if (auto error = find_piece_error(buffers, at, piece, [owner](int from) { return from == owner; }))
        return error;
  }
  return std::nullopt;
}

Error check_result(const CollectiveSchedule& schedule, Buffers& buffers) {
  if (is_fan(schedule.operation)) return check_fan(schedule, buffers);
  bool adds = reduces(schedule.operation);
  switch (traits_of(schedule.operation).least) {
    case BufferShare::whole:
      return check_all_reduce(buffers);
    case BufferShare::part:
      return adds ? check_reduce_scatter(schedule, buffers) : check_all_gather(buffers);
    case BufferShare::nothing:
      break;
  }
  if (schedule.stages.empty()) return adds ? check_reduce(buffers, 0) : check_broadcast(buffers, 0);
  int root = adds ? schedule.stages.back().channels[0].edges.back().to
                  : schedule.stages[0].channels[0].edges.front().from;
  return adds ? check_reduce(buffers, root) : check_broadcast(buffers, root);
}

}  // namespace

std::optional<std::string> find_schedule_error(const CollectiveSchedule& schedule) {
  if (auto error = find_structure_error(schedule)) return error;
  // The structure of direct sends says it all.
  if (is_exchange(schedule.operation))
    return is_in_rounds(schedule) ? find_slot_error(schedule) : std::nullopt;
  Buffers buffers(schedule.ranks, piece_count(schedule));
  if (auto error = execute(schedule, buffers)) return error;
  return check_result(schedule, buffers);
}

}  // namespace ddpsim
