#pragma once
// What NCCL calls things, and what its tuner tells apart.
#include <string_view>

namespace ddpsim::nccl {

enum class Version { v2_21_5, v2_27_6, v2_30_7 };
// By compute capability: 7.0, 8.0, 8.9, 9.0, 10.0. The tuner counts 8.9 (Ada) as Ampere.
enum class Gpu { volta, ampere, ada, hopper, blackwell };
enum class Cpu { intel, amd, other };
enum class Algorithm { tree, ring, nvls, nvls_tree };
enum class Protocol { ll, ll128, simple };

inline constexpr int kAlgorithms = 4, kProtocols = 3;

std::string_view name(Version version);      // "2.27.6"
std::string_view name(Gpu gpu);              // "hopper"
std::string_view name(Algorithm algorithm);  // "nvls_tree"
std::string_view name(Protocol protocol);    // "ll128"

}  // namespace ddpsim::nccl
