#pragma once
// A testbed with a delay: a TUN device in each rank's namespace, and a forwarder between them.
#include <optional>

#include "validate/testbed/forwarder.hpp"
#include "validate/testbed/rank_namespaces.hpp"

namespace ddpsim::validate {

class DelayedLinks : public RankNamespaces {
 public:
  DelayedLinks(int ranks, BytesPerSecond rate, Seconds delay);

 private:
  std::optional<Forwarder> forwarder_;
};

}  // namespace ddpsim::validate
