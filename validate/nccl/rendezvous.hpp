#pragma once
// How the ranks of a run get NCCL's identifier from rank 0: over TCP, before anything else connects them.
#include <array>
#include <string>

#include "sim/base/units.hpp"

namespace ddpsim::validate {

struct Meeting {
  int rank = 0, world_size = 1;
  std::string address;  // rank 0's: a name, or IPv4 or IPv6
  int port = 0;
  Seconds timeout{60};    // until all have come
  std::string file = {};  // in place of the port: rank 0 listens at one that is free, and says here which
};

using Token = std::array<char, 128>;  // as long as ncclUniqueId

// Rank 0's token, on every rank. Each calls it once, from processes or threads; nobody returns before all
// have come. Connections that are none of ours are ignored. Throws RunFailed, naming this rank and the
// address, when ranks are missing at the time-out, the address cannot be used, or two ranks say that they are
// the same.
Token meet(const Meeting& meeting, const Token& mine);

}  // namespace ddpsim::validate
