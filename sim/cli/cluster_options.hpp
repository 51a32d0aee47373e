#pragma once
// What every look at a topology reads: a topology, by its name or its file, at some size.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/command_line/command_line.hpp"
#include "sim/topology/topology.hpp"

namespace ddpsim::cli {

struct ClusterOptions {
  std::string file;
  std::optional<int> gpus;

  void add_to(Command& command);
  // Of one node, or of all that a graph names, without a size.
  [[nodiscard]] std::shared_ptr<const Cluster> build(const Topology& topology) const;
  [[nodiscard]] std::shared_ptr<const Cluster> build() const { return build(*topology()); }
  // The GPUs of a job of that size on it.
  [[nodiscard]] std::vector<int> job(const Topology& topology, const Cluster& cluster) const;
  [[nodiscard]] std::shared_ptr<const Topology> topology() const;
};

// What NCCL does only where it is told to, and what it is forced to.
struct AllowedOptions {
  bool collnet = false, symmetric = false;
  std::string algorithm, protocol, version;

  void add_to(Command& command);
  // Throws InputError where the network does not reduce.
  [[nodiscard]] nccl::Allowed allowed(const NcclPlatform& platform) const;
  // The same without what is forced.
  [[nodiscard]] nccl::Allowed unforced(const NcclPlatform& platform) const;
  // Of the release that is asked for. Throws InputError for one whose sources were not read.
  [[nodiscard]] NcclPlatform platform(NcclPlatform platform) const;
  // The first that is given; null: none is.
  [[nodiscard]] const char* given() const;
};

}  // namespace ddpsim::cli
