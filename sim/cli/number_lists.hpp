#pragma once
#include <string>
#include <vector>

#include "sim/base/units.hpp"

namespace ddpsim::cli {

// "25MiB", a list "1MiB,3MiB", or a range as nccl-tests' -b -e -f: "8B:8GiB:2" from, to, and the factor
// between two sizes (2 unless said). In a range bare whole numbers are bytes, as there. Throws InputError in
// `option`'s text.
std::vector<Bytes> parse_number_lists(const std::string& text, const char* option);

// Whole numbers from 2 to `most` likewise: "8,64,512", or "8:4096" and "8:4096:4".
std::vector<int> parse_counts(const std::string& text, const char* option, int most);

}  // namespace ddpsim::cli
