#pragma once
#include <string>

#include "sim/keys/table.hpp"

namespace ddpsim {

// What the table has of a key ("ddp.bucket_cap"), a line a fact; of a section ("ddp") its keys. Empty: there
// is no such key.
std::string key_help(const keys::Section& table, const std::string& path);

}  // namespace ddpsim
