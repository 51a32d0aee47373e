#pragma once
// What collectives take, as a compiler asks for it: of few communicators, of many sizes, again and again.
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "sim/cost/collective_cost.hpp"

namespace ddpsim {

class CollectiveTimes {
 public:
  // Of a group of GPUs, nobody else on the links; of a send_recv from the first to the last. Buffers are
  // counted as nccl-tests does. `topology` is a preset's name or a path. Under NCCL where the topology
  // describes it, else over its links, by rings. Throws InputError for a group that the topology cannot have.
  // `backend`: with that library, as far as the topology lets it; none: as above.
  Seconds operator()(const std::string& topology, const std::vector<int>& gpus, Operation operation,
                     Bytes bytes, std::optional<Backend> backend = std::nullopt);

 private:
  struct Known {
    std::unique_ptr<CollectiveCost> cost;
    std::map<Operation, std::unordered_map<double, Seconds>> times;  // by bytes
  };
  std::map<std::optional<Backend>, std::map<std::string, std::map<std::vector<int>, Known>, std::less<>>>
      known_;
};

}  // namespace ddpsim
