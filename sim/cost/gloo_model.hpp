#pragma once
// What the all-reduces of a group of GPUs take with Gloo, from what the cluster says of their machines.
#include <optional>
#include <span>
#include <vector>

#include "sim/cost/library_model.hpp"
#include "sim/gloo/cost_model.hpp"
#include "sim/topology/cluster.hpp"
#include "sim/topology/topology.hpp"

namespace ddpsim {

class GlooModel : public LibraryModel {
 public:
  explicit GlooModel(const gloo::CostModel& cost) : cost_(cost) {}
  [[nodiscard]] Backend backend() const override { return Backend::gloo; }
  // Whether it has a formula of its own. Others take their share of a ring all-reduce's time.
  [[nodiscard]] static bool has_formula(Operation operation);
  [[nodiscard]] Way way(Bytes bytes, Operation operation) const override;

 protected:
  [[nodiscard]] Seconds unscaled(Bytes bytes, Operation operation) const override;
  [[nodiscard]] std::shared_ptr<LibraryModel> copy() const override {
    return std::make_shared<GlooModel>(*this);
  }

 private:
  gloo::CostModel cost_;
};

// Ranks in their order, each sending to the one before it; a machine has one interface for all of its ranks.
// Throws InputError (without a place) when broken links part two of them. `copy` is for the caller to fill.
gloo::Group gloo_group(const Cluster& cluster, std::span<const int> gpus);

// Of a route to another machine, what a NIC's traffic uses: the links inside the machines are those of GPUs.
std::vector<int> network_links(const Cluster& cluster, const Route& route);

// Of the GPU that is worst off when all of these copy to their hosts at once; nullopt where the cluster has
// no PCIe.
std::optional<BytesPerSecond> pcie_copy_bandwidth(const Cluster& cluster, std::span<const int> gpus);

// Where it has none: by the generation of PCIe that the GPU named for NCCL has.
BytesPerSecond usual_copy_bandwidth(const Topology& topology);

}  // namespace ddpsim
