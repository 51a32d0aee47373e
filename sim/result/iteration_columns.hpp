#pragma once
// The columns of an iteration, and of what it consists of (docs/reference/results.md says what each means).
#include "sim/result/columns.hpp"
#include "sim/result/metrics.hpp"
#include "sim/result/sweep_result.hpp"

namespace ddpsim {

extern const Columns<IterationMetrics> kIterationColumns;
extern const Columns<MemoryMetrics> kMemoryColumns;
extern const Columns<SharedModelMetrics::Stage> kStageColumns;
// When a collective was ready, started and ended, and how it was carried out; and with its size before.
extern const Columns<BucketMetrics> kTimeColumns, kBucketColumns;
extern const Columns<OperationMetrics> kOperationColumns;
// What was measured of a sweep's point; and all with its iteration before.
extern const Columns<SweepPoint> kMeasuredColumns, kPointColumns;

}  // namespace ddpsim
