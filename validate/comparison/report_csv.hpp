#pragma once
// A comparison as CSV, numbers in their shortest form that reads back exactly. A row begins with what tells
// its point from others: axes whose values are no result key, each under its scenario key, then world_size,
// strategy, bucket_cap_bytes and n_buckets. A field is empty where its value is unknown.
#include <string>

#include "validate/comparison/validation_report.hpp"

namespace ddpsim::validate {

// One row a point.
std::string validation_csv(const ValidationReport& report);

// One row a bucket of a point; only the header where no buckets were measured.
std::string buckets_csv(const ValidationReport& report);

}  // namespace ddpsim::validate
