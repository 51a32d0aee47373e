#pragma once
// A testbed without a delay: a veth pair from each rank's namespace to a bridge in one more, with the
// kernel's token bucket filter (tc-tbf(8)) on what the rank sends.
#include "validate/testbed/rank_namespaces.hpp"

namespace ddpsim::validate {

class ShapedLinks : public RankNamespaces {
 public:
  ShapedLinks(int ranks, BytesPerSecond rate);

 private:
  Namespace bridge_;
};

// What a link may send at once after a pause: a segmentation unit, and what the link carries in the 100 us by
// which the kernel's timer may be late (a bucket that is full meanwhile loses rate).
Bytes token_bucket_burst(BytesPerSecond rate);

}  // namespace ddpsim::validate
