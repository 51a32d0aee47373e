#pragma once
// What NCCL calls things, and what its tuner tells apart.
#include "sim/base/names.hpp"

namespace ddpsim::nccl {

// By compute capability: 7.0, 8.0, 8.9, 9.0, 10.0. The tuner counts 8.9 (Ada) as Ampere.
enum class Gpu { volta, ampere, ada, hopper, blackwell };
enum class Cpu { intel, amd, arm, other };
// In NCCL's order, which decides between two that cost the same.
// The last two are no choices of the tuner's (symmetric.hpp).
enum class Algorithm {
  tree,
  ring,
  collnet_direct,
  collnet_chain,
  nvls,
  nvls_tree,
  pat,
  symmetric,
  symmetric_multicast
};
enum class Protocol { ll, ll128, simple };
// Of the values that are reduced, as far as NVLS tells them apart.
enum class Element { int8, float8, int32, int64, float16, bfloat16, float32, float64 };

inline constexpr int kTunedAlgorithms = 7, kProtocols = 3;

inline constexpr Names<Gpu, 5> kGpuNames{{{"volta", Gpu::volta},
                                          {"ampere", Gpu::ampere},
                                          {"ada", Gpu::ada},
                                          {"hopper", Gpu::hopper},
                                          {"blackwell", Gpu::blackwell}}};
inline constexpr Names<Cpu, 4> kCpuNames{
    {{"intel", Cpu::intel}, {"amd", Cpu::amd}, {"arm", Cpu::arm}, {"other", Cpu::other}}};
inline constexpr Names<Algorithm, 9> kAlgorithmNames{
    {{"tree", Algorithm::tree},
     {"ring", Algorithm::ring},
     {"collnet_direct", Algorithm::collnet_direct},
     {"collnet_chain", Algorithm::collnet_chain},
     {"nvls", Algorithm::nvls},
     {"nvls_tree", Algorithm::nvls_tree},
     {"pat", Algorithm::pat},
     {"symmetric", Algorithm::symmetric},
     {"symmetric_multicast", Algorithm::symmetric_multicast}}};
inline constexpr Names<Protocol, 3> kProtocolNames{
    {{"ll", Protocol::ll}, {"ll128", Protocol::ll128}, {"simple", Protocol::simple}}};

inline std::string_view name(Gpu value) {
  return name_in(kGpuNames, value);
}
inline std::string_view name(Algorithm value) {
  return name_in(kAlgorithmNames, value);
}
inline std::string_view name(Protocol value) {
  return name_in(kProtocolNames, value);
}

}  // namespace ddpsim::nccl
