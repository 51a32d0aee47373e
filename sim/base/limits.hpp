#pragma once
// The most an input may hold: more than anybody has, and no more than the program can hold and count exactly.
#include <cstddef>
#include <cstdint>

#include "sim/base/units.hpp"

namespace ddpsim {

// Clusters
inline constexpr int kLargestWorldSize = 1 << 20;     // ranks
inline constexpr int kMostGraphGpus = 1024;           // of a topology of kind graph
inline constexpr int kMostGraphVertices = 4096;       // of the same: GPUs, switches, hosts
inline constexpr int kMostMultiprocessors = 100'000;  // of a GPU
inline constexpr double kLargestInterference = 100;   // a hundred times as slow
inline constexpr double kLargestSlowdown = 1e6;       // of a straggler
inline constexpr double kLargestSpread = 1;           // of compute times, over their median
inline constexpr double kMostPasses = 100;            // over a bucket's bytes, before or after its all-reduce
inline constexpr std::int64_t kMostIterations = 100'000;  // that differ, of a scenario
inline constexpr double kMostDraws = 1e9;                 // iterations that differ x ranks

// Sizes and times
inline constexpr Bytes kLargestByteCount(0x1p53);  // 8 PiB: whole byte counts below are exact as doubles
inline constexpr std::int64_t kMostElements = std::int64_t{1} << 53;          // of a gradient, a record
inline constexpr std::int64_t kMostProfiledElements = std::int64_t{1} << 49;  // 4 PiB of doubles
inline constexpr Seconds kLongestDuration(1e9);                               // of whatever has one
inline constexpr Seconds kLongestMeasurement(1e6);  // of a layer, a collective: far below the above in sum

// Traces and models
inline constexpr std::int64_t kLargestBatch = 1'000'000'000;  // samples a step; tokens a sample
inline constexpr int kMostAccumulationSteps = 1'000'000;      // micro-batches of a step
inline constexpr double kMostPipelinePasses = 400'000;        // forward, of micro-batches through all stages
inline constexpr std::int64_t kMostSteps = 1'000'000'000;     // behind a table of recorded collectives
inline constexpr std::size_t kMostProfileEvents = 5'000'000;  // that count; a step has some ten thousand
inline constexpr std::int64_t kMostTransformerWidth = 1 << 24;  // of anything but its depth
inline constexpr std::int64_t kMostBlocks = 10'000;             // of a transformer
inline constexpr std::int64_t kMostExperts = 4096;              // of a block
inline constexpr std::size_t kMostLayers = 20'000;              // of a model
inline constexpr std::int64_t kMostRepeats = 10'000;            // of a layer, or of a group of them
inline constexpr int kMostKernels = 1000;                       // of a layer's pass
inline constexpr double kLargestCount = 1e18;                   // of a layer's operations or values
inline constexpr double kLargestRescaleFactor = 1e6;            // of times given by hand

// Programs
inline constexpr std::size_t kMostProgramOps = 1'000'000;      // of a class of ranks, loops written out
inline constexpr std::size_t kMostLabelIndex = 1'000'000'000;  // of an op's name
inline constexpr std::int64_t kMostProgramStreams = 100;       // that compute, of a class of ranks
inline constexpr double kMostProgramFactor = 1e18;             // of a time or size

// Files and sweeps
inline constexpr int kDeepestNesting = 64;                // of YAML and of a profile's JSON
inline constexpr std::size_t kMostYamlValues = 100'000;   // of a file, with aliases written out
inline constexpr std::size_t kMostSweepPoints = 100'000;  // of all axes together

}  // namespace ddpsim
