#pragma once
#include <iosfwd>

#include "validate/comparison/validation_report.hpp"

namespace ddpsim::validate {

// For people: a row a point, the best ones marked, then the errors in a few lines; with `buckets` also a
// table of the buckets of each point, of many the first and the last.
void print_report(std::ostream& out, const ValidationReport& report, bool buckets);

}  // namespace ddpsim::validate
