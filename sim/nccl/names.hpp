#pragma once
// What NCCL calls things, and what its tuner tells apart.
#include "sim/base/names.hpp"
#include "sim/nccl/gpus.hpp"

namespace ddpsim::nccl {

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

inline constexpr auto kGpuNames = [] {
  Names<Gpu, kGpus.size()> names;
  for (std::size_t i = 0; i < names.size(); ++i) names[i] = {kGpus[i].name, kGpus[i].gpu};
  return names;
}();
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

inline std::string_view name(Algorithm value) {
  return name_in(kAlgorithmNames, value);
}
inline std::string_view name(Protocol value) {
  return name_in(kProtocolNames, value);
}

}  // namespace ddpsim::nccl
