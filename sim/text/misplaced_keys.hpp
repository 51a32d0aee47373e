#pragma once
#include "sim/config/value.hpp"

namespace ddpsim {

// Throws InputError for a key that a scenario has elsewhere, or under another name: a bucket_cap outside of
// `ddp`, workload.seq_len. Other unknown keys are left to who reads the section.
void check_misplaced_keys(const config::Value& root);

}  // namespace ddpsim
