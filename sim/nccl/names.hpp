#pragma once
// What NCCL calls things, and what its tuner tells apart.
#include "sim/base/names.hpp"

namespace ddpsim::nccl {

enum class Version { v2_21_5, v2_27_6, v2_30_7 };
// By compute capability: 7.0, 8.0, 8.9, 9.0, 10.0. The tuner counts 8.9 (Ada) as Ampere.
enum class Gpu { volta, ampere, ada, hopper, blackwell };
enum class Cpu { intel, amd, other };
enum class Algorithm { tree, ring, nvls, nvls_tree };
enum class Protocol { ll, ll128, simple };

inline constexpr int kAlgorithms = 4, kProtocols = 3;

inline constexpr Names<Version, 3> kVersionNames{
    {{"2.21.5", Version::v2_21_5}, {"2.27.6", Version::v2_27_6}, {"2.30.7", Version::v2_30_7}}};
inline constexpr Names<Gpu, 5> kGpuNames{{{"volta", Gpu::volta},
                                          {"ampere", Gpu::ampere},
                                          {"ada", Gpu::ada},
                                          {"hopper", Gpu::hopper},
                                          {"blackwell", Gpu::blackwell}}};
inline constexpr Names<Cpu, 3> kCpuNames{{{"intel", Cpu::intel}, {"amd", Cpu::amd}, {"other", Cpu::other}}};
inline constexpr Names<Algorithm, 4> kAlgorithmNames{{{"tree", Algorithm::tree},
                                                      {"ring", Algorithm::ring},
                                                      {"nvls", Algorithm::nvls},
                                                      {"nvls_tree", Algorithm::nvls_tree}}};
inline constexpr Names<Protocol, 3> kProtocolNames{
    {{"ll", Protocol::ll}, {"ll128", Protocol::ll128}, {"simple", Protocol::simple}}};

inline std::string_view name(Version value) {
  return name_in(kVersionNames, value);
}
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
