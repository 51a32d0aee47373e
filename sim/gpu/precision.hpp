#pragma once
// What matrix products are computed in.
#include "sim/base/names.hpp"
#include "sim/trace/layer_trace.hpp"

namespace ddpsim {

enum class Precision { float16, bfloat16, float32, float64, tfloat32, float8 };
// As in GPU files.
inline constexpr Names<Precision, 6> kPrecisionNames{{{"float16", Precision::float16},
                                                      {"bfloat16", Precision::bfloat16},
                                                      {"float32", Precision::float32},
                                                      {"float64", Precision::float64},
                                                      {"tfloat32", Precision::tfloat32},
                                                      {"float8", Precision::float8}}};
// As in scenarios (workload.dtype).
inline constexpr Names<Precision, 5> kWorkloadPrecisionNames{{{"fp32", Precision::float32},
                                                              {"tf32", Precision::tfloat32},
                                                              {"fp16", Precision::float16},
                                                              {"bf16", Precision::bfloat16},
                                                              {"fp8", Precision::float8}}};

// That of values of this type.
constexpr Precision precision_of(DType dtype) {
  switch (dtype) {
    case DType::float16:
      return Precision::float16;
    case DType::bfloat16:
      return Precision::bfloat16;
    case DType::float64:
      return Precision::float64;
    case DType::float32:
      break;
  }
  return Precision::float32;
}

// Bytes of an activation: products in float8 leave their results in 16 bits.
constexpr int activation_bytes(Precision precision) {
  if (precision == Precision::float64) return 8;
  return precision == Precision::float32 || precision == Precision::tfloat32 ? 4 : 2;
}

}  // namespace ddpsim
