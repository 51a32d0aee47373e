#include "traces/capture/host_memory.hpp"

#include <fstream>

#include <fmt/core.h>

#include "sim/base/source.hpp"
#include "sim/model/transformer.hpp"

namespace ddpsim {

Bytes memory_needed(const CaptureOptions& options) {
  auto elements = static_cast<double>(transformer_named(options.model).parameters(options.sequence));
  int copies = options.optimizer == "adamw" ? 4 : 2;
  return Bytes(elements * sizeof(float) * copies);
}

std::optional<Bytes> memory_available() {
  std::ifstream meminfo("/proc/meminfo");
  double kibibytes = 0;
  for (std::string key, unit; meminfo >> key >> kibibytes; std::getline(meminfo, unit))
    if (key == "MemAvailable:") return Bytes(1024 * kibibytes);
  return std::nullopt;
}

void check_memory(const CaptureOptions& options, std::optional<Bytes> available) {
  auto needed = memory_needed(options);
  if (!available || needed <= *available) return;
  throw InputError(
      fmt::format("{} with {} needs {:.1f} GB before any activation, and {:.1f} GB of memory are free",
                  options.model, options.optimizer, needed.value() / 1e9, available->value() / 1e9),
      options.optimizer == "adamw" ? "--optimizer sgd keeps no moments: half of that"
                                   : "take a smaller --model");
}

}  // namespace ddpsim
