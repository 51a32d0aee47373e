#include "sim/collective/verify.hpp"

// Symbolic execution of a schedule: every rank holds, for each chunk, how often each rank's contribution is
// in it.
#include <vector>

#include <fmt/format.h>

#include "sim/base/check.hpp"

namespace ddpsim {
namespace {

using Contributions = std::vector<int>;                   // by contributing rank
using Buffers = std::vector<std::vector<Contributions>>;  // [rank][chunk]

Buffers initial_buffers(std::size_t n) {
  Buffers buffers(n, std::vector<Contributions>(n, Contributions(n, 0)));
  for (std::size_t rank = 0; rank < n; ++rank)
    for (auto& chunk : buffers[rank]) chunk[rank] = 1;
  return buffers;
}

// Whether the step changed anything.
bool execute_step(const Stage& stage, const Ring& ring, int step, Buffers& buffers) {
  int n = static_cast<int>(ring.edges.size());
  Buffers before = buffers;  // all edges send at once
  for (int position = 0; position < n; ++position) {
    const Edge& edge = ring.edges[static_cast<std::size_t>(position)];
    auto [chunk, reduce] = ring_transfer(stage.operation, n, position, step);
    const auto& sent = before[static_cast<std::size_t>(edge.from)][static_cast<std::size_t>(chunk)];
    auto& kept = buffers[static_cast<std::size_t>(edge.to)][static_cast<std::size_t>(chunk)];
    if (!reduce)
      kept = sent;
    else
      for (std::size_t i = 0; i < kept.size(); ++i) kept[i] += sent[i];
  }
  return buffers != before;
}

}  // namespace

std::optional<std::string> find_schedule_error(const CollectiveSchedule& schedule) {
  DDPSIM_CHECK(schedule.stages.size() == 1 && schedule.stages[0].rings.size() == 1, "one stage of one ring");
  const Stage& stage = schedule.stages[0];
  const Ring& ring = stage.rings[0];
  auto n = ring.edges.size();
  if (static_cast<int>(n) != schedule.ranks || stage.chunks != schedule.ranks)
    return fmt::format("{} edges and {} chunks for {} ranks", n, stage.chunks, schedule.ranks);
  for (std::size_t i = 0; i < n; ++i)
    if (int from = ring.edges[i].from; from < 0 || from >= schedule.ranks)
      return fmt::format("edge {} starts at rank {} of {}", i, from, schedule.ranks);
  for (std::size_t i = 0; i < n; ++i)
    if (ring.edges[i].to != ring.edges[(i + 1) % n].from)
      return fmt::format("edge {} does not lead into the next", i);
  Buffers buffers = initial_buffers(n);
  for (int step = 0; step < stage.steps; ++step)
    if (!execute_step(stage, ring, step, buffers)) return fmt::format("step {} changes nothing", step);
  for (std::size_t rank = 0; rank < n; ++rank)
    for (std::size_t chunk = 0; chunk < n; ++chunk)
      for (std::size_t from = 0; from < n; ++from)
        if (int times = buffers[rank][chunk][from]; times != 1)
          return fmt::format("rank {}, chunk {}: contribution of rank {} counted {} times", rank, chunk, from,
                             times);
  return std::nullopt;
}

}  // namespace ddpsim
