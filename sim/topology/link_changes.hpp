#pragma once
// Which links of a cluster are not as the description says.
#include <span>
#include <unordered_map>
#include <vector>

#include "sim/topology/topology.hpp"

namespace ddpsim {

class LinkChanges {
 public:
  // Later calls change what earlier ones left. Throws InputError for names the cluster does not have and for
  // links named twice in one call.
  void add(const Cluster& cluster, std::span<const LinkOverride> overrides);
  void add(int link, const LinkOverride& override);

  [[nodiscard]] Link applied(int link, Link figures) const;
  [[nodiscard]] bool broken(int link) const;
  [[nodiscard]] bool changed(int link) const { return !changes_.empty() && changes_.contains(link); }
  [[nodiscard]] std::vector<int> links() const;  // changed in any way, ascending
  // Of the first broken link of a route that would be there if it were whole. Throws InputError.
  [[noreturn]] void throw_no_way(const Cluster& cluster, const Route& whole, int from_gpu, int to_gpu) const;

 private:
  std::unordered_map<int, LinkOverride> changes_;
};

// For GPUs that no links join, broken or not.
[[noreturn]] void throw_no_way(const Cluster& cluster, int from_gpu, int to_gpu);

}  // namespace ddpsim
