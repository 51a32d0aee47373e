#include "sim/strategies/offload.hpp"

#include <fmt/format.h>

#include "sim/base/counted.hpp"
#include "sim/base/quantity.hpp"
#include "sim/base/source.hpp"
#include "sim/strategies/bucketed_plan.hpp"

namespace ddpsim {

Note host_memory_note(const Host& host, const LayerTrace& trace, double of_trained, double of_frozen) {
  std::int64_t all = 0, trained = total_elements(trace);
  for (const auto& gradient : trace.gradients) all += gradient.elements;
  auto bytes = host.ranks *
               (of_trained * static_cast<double>(trained) + of_frozen * static_cast<double>(all - trained));
  return {
      "host-memory",
      fmt::format("each host keeps {:.1f} GB of what its {} offload{}, and steps {:.3g} parameters a second "
                  "(host.adam_rate); copies take {} (host.copy_bandwidth)",
                  bytes / 1e9, counted(host.ranks, "GPU"), host.ranks == 1 ? "s" : "", host.adam_rate,
                  format_bandwidth(host.copy_bandwidth))};
}

void refuse_offload_of_parts(std::string_view key) {
  throw InputError("offloading of a model that GPUs share is not simulated", "remove it")
      .about(std::string(key));
}

}  // namespace ddpsim
