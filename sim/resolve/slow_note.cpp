#include "sim/resolve/slow_note.hpp"

#include <algorithm>
#include <cstdint>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/limits.hpp"
#include "sim/config/overrides.hpp"
#include "sim/config/reader.hpp"
#include "sim/config/sweep_axes.hpp"

namespace ddpsim {
namespace {

// Measured: 1,048,576 GPUs of a cluster take 5 GB and 32 s, of a sharded model 10 GB; 100,000 iterations of
// 1,024 ranks 32 s of a core and 20 MB; a million points 145 s.
constexpr std::int64_t kManyGpus = 65536, kManyPoints = 200000;
constexpr double kBytesOfAGpu = 5e3, kManyDraws = 1e8, kSecondsOfADraw = 3e-7;

std::int64_t number_or(const config::Value* value, std::int64_t most, std::int64_t otherwise = 1) {
  try {
    return value ? config::as_integer(1, most)(*value) : otherwise;
  } catch (const InputError&) {
    return otherwise;  // whoever reads it says so
  }
}

std::vector<config::SweepAxis> axes_of(config::Value& root) {
  try {
    return config::take_sweep_axes(root, std::size_t{1} << 40);
  } catch (const InputError&) {
    return {};
  }
}

}  // namespace

std::optional<Note> slow_note(config::Value root, bool sweeps) {
  auto gpus = number_or(config::find_at(root, "cluster.world_size"), kLargestWorldSize);
  auto iterations = number_or(config::find_at(root, "variability.iterations"), kMostIterations);
  std::int64_t points = 1;
  for (const auto& axis : axes_of(root)) {
    if (!sweeps) break;
    points *= static_cast<std::int64_t>(axis.values.size());
    for (const auto& value : axis.values) {
      if (axis.key == "cluster.world_size") gpus = std::max(gpus, number_or(&value, kLargestWorldSize));
      if (axis.key == "variability.iterations")
        iterations = std::max(iterations, number_or(&value, kMostIterations));
    }
  }
  std::vector<std::string> much;
  if (gpus >= kManyGpus)
    much.push_back(fmt::format("{} GPUs take up to some {:.2g} GB of memory", gpus,
                               static_cast<double>(gpus) * kBytesOfAGpu / 1e9));
  double draws = static_cast<double>(iterations * points) * static_cast<double>(gpus);
  if (iterations > 1 && draws >= kManyDraws)
    much.push_back(fmt::format("{} iterations of {} ranks some {:.2g} minutes of a core", iterations * points,
                               gpus, draws * kSecondsOfADraw / 60));
  else if (points >= kManyPoints)
    much.push_back(fmt::format("{} points minutes (with --results each is kept at once)", points));
  if (much.empty()) return std::nullopt;
  return Note{"slow", fmt::format("this will take a while: {}", fmt::join(much, ", "))};
}

}  // namespace ddpsim
