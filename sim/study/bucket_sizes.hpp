#pragma once
// Sizes worth trying of what a strategy reduces at once: DDP's and Megatron's buckets, ZeRO's, FSDP's units.
#include <string>
#include <string_view>
#include <vector>

namespace ddpsim {

struct BucketSizes {
  const char *section, *key;
  std::vector<const char*> values;

  [[nodiscard]] std::string path() const { return std::string(section) + "." + key; }  // "ddp.bucket_cap"
};

// Null: it reduces everything at once, or each gradient alone.
const BucketSizes* bucket_sizes_of(std::string_view strategy);

}  // namespace ddpsim
