#pragma once
// A sweep's points, beside the best of the same job, and what follows from them in words.
#include <iosfwd>
#include <string>
#include <vector>

#include "sim/base/terminal.hpp"
#include "sim/report/shown_table.hpp"
#include "sim/report/table_parts.hpp"
#include "sim/result/sweep_result.hpp"

namespace ddpsim {

// A row a point, in the sweep's order. `is_short`: caps that follow one another and make the same buckets are
// one row, PyTorch's default cap has its own, and points without results are there.
ShownTable sweep_table(const SweepResult& result, bool is_short);

// "iterations are the median of 200 (seed 1), ..."; empty where they do not differ.
std::string reported_iterations(const SweepResult& result);

// The table, and what is best.
void print_sweep(std::ostream& out, const Terminal& terminal, const SweepResult& result,
                 TableStyle style = TableStyle::text);

}  // namespace ddpsim
