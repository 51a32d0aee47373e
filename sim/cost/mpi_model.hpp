#pragma once
// What collectives take with Open MPI: the algorithm that its fixed rules pick, as a schedule over the links.
// Declared: nothing of MPI was measured.
#include <memory>
#include <optional>
#include <vector>

#include "sim/cost/library_model.hpp"
#include "sim/mpi/decision.hpp"
#include "sim/topology/cluster.hpp"
#include "sim/topology/topology.hpp"

namespace ddpsim {

// Where buffers of GPUs are reduced: Open MPI copies them to the host and back (ompi/mca/coll/cuda:
// MPI_Allreduce, MPI_Reduce, MPI_Reduce_scatter_block). All else goes from GPU to GPU.
struct MpiHost {
  BytesPerSecond copy;     // between a GPU and its host, all GPUs at once
  BytesPerSecond process;  // takes in what it adds up or copies out of another process's memory
  Seconds message;         // to a process of the same machine
};

class MpiModel : public LibraryModel {
 public:
  // `host`: none where the links are all there is.
  MpiModel(std::shared_ptr<const Cluster> cluster, std::vector<int> gpus, std::optional<MpiHost> host);
  [[nodiscard]] Backend backend() const override { return Backend::mpi; }

  struct Choice {
    std::optional<mpi::Choice> algorithm;  // none: a message
    std::string_view time_is;              // another algorithm's; "": its own
    Seconds time;
  };
  [[nodiscard]] Choice choose(Bytes bytes, Operation operation) const;
  [[nodiscard]] Way way(Bytes bytes, Operation operation) const override;

 protected:
  [[nodiscard]] Seconds unscaled(Bytes bytes, Operation operation) const override {
    return choose(bytes, operation).time;
  }
  [[nodiscard]] Seconds latency(Bytes bytes, Operation operation) const override;
  [[nodiscard]] std::shared_ptr<LibraryModel> copy() const override;

 private:
  class Links;
  class Timed;
  class Plans;
  std::shared_ptr<Plans> plans_;  // shared by copies, and by threads
};

// Of the hosts of these GPUs; none on a bare network.
std::optional<MpiHost> mpi_host(const Topology& topology, const Cluster& cluster, std::span<const int> gpus);

}  // namespace ddpsim
