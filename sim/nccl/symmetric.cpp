#include "sim/nccl/symmetric.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/core.h>

#include "sim/base/check.hpp"
#include "sim/base/source.hpp"
#include "sim/nccl/constants.hpp"

namespace ddpsim::nccl {
namespace {

constexpr int kMostBlocks = 64;         // ncclSymkMaxBlocks
constexpr double kLowLatencyBytes = 9;  // LL_BusFactor: "2X the bytes, plus some processing"
constexpr double kBlockPrice = 0.025, kTolerance = 1.025;
constexpr double kGiBps = 1073.741824;               // in bytes/us
constexpr double kLargestLowLatency = 2147483648.0;  // bytes of the buffer: LL counts in 32 bits
constexpr double kLargest = 32 * kLargestLowLatency;

constexpr std::array kReduced{Element::float8, Element::float16, Element::bfloat16, Element::float32};

// Of a generation; bandwidths in GiB/s.
struct Figures {
  double gather_ll, ll, all_reduce, simple;  // latencies in us
  double all_reduce_block, block;
  double peak_in_switch, peak;
  int multicast_blocks;  // of all GPUs together

  [[nodiscard]] double latency(Operation operation, bool is_low) const {
    if (is_low) return reduces(operation) ? ll : gather_ll;
    return is_in_parts(operation) ? simple : all_reduce;
  }
};
constexpr Figures kHopper{4.5, 4.5, 7.8, 7.8, 65, 44, 480, 320, 16};
constexpr Figures kBlackwell{8.5, 11, 19.5, 13, 55, 55, 1000, 600, 32};

// A smooth min(x, ceiling), as soft as `softness`.
double soft_min(double x, double ceiling, double softness) {
  return ceiling - softness * std::log1p(std::expm1(ceiling / softness) * std::exp(-x / softness));
}

// A smooth max(0, x).
double soft_plus(double x) {
  return x >= 100 ? x : std::log1p(std::exp(x));
}

double kernel_time(double bytes, double latency, double bandwidth) {
  return latency + soft_plus(bytes / bandwidth - 1);
}

double multiplier_of(bool is_multicast, bool is_low, bool is_all_reduce, double ranks) {
  if (!is_multicast) return 1;
  if (is_low) return 1.1;
  return is_all_reduce ? ranks : 0.55 * ranks;
}

}  // namespace

void require_symmetric(const Communicator& communicator, const Allowed& allowed) {
  if (communicator.version < kFirstSymmetric)
    throw InputError(fmt::format("NCCL has symmetric kernels since {}, and this is {}", name(kFirstSymmetric),
                                 name(communicator.version)),
                     "remove 'symmetric', or write a later 'version'");
  if (communicator.nodes > 1 || !is_nvlink_node(communicator))
    throw InputError("symmetric kernels are for GPUs of one NVLink domain",
                     communicator.nodes > 1
                         ? fmt::format("these are on {} nodes; what NCCL 2.29 has for several (over GIN) is "
                                       "not modelled: remove 'symmetric'",
                                       communicator.nodes)
                         : "these have no NVLink among all of them: remove 'symmetric'");
  if (communicator.gpu != Gpu::hopper && communicator.gpu != Gpu::blackwell)
    throw InputError(fmt::format("NCCL's times of symmetric kernels are of hopper and blackwell GPUs, not {}",
                                 name(communicator.gpu)),
                     "remove 'symmetric'");
  if (!allowed.algorithms.empty() || !allowed.protocols.empty())
    throw InputError("NCCL runs its symmetric kernels whatever algorithm or protocol is forced",
                     "remove 'algorithm' and 'protocol', or remove 'symmetric'");
}

SymmetricKernels::SymmetricKernels(const Communicator& communicator, Collective collective,
                                   const RingLines& lines)
    : communicator_(communicator), collective_(collective) {
  for (auto algorithm : {Algorithm::symmetric, Algorithm::symmetric_multicast})
    for (auto protocol : {Protocol::ll, Protocol::simple}) {
      if (!has(algorithm, protocol)) continue;
      auto known = kernel(algorithm, protocol, lines);
      double widest = std::min(
          soft_min(known.most_blocks * known.block * known.multiplier, known.peak, known.block), known.links);
      BytesPerSecond algbw(widest / known.bytes * 1e6);
      candidates_.push_back(
          {algorithm, protocol, known.most_blocks, Seconds(known.latency * 1e-6), algbw, algbw});
      kernels_.push_back(known);
    }
}

bool SymmetricKernels::has(Algorithm algorithm, Protocol protocol) const {
  if (!has_symmetric(collective_.operation)) return false;
  bool adds = reduces(collective_.operation);
  if (adds && std::ranges::find(kReduced, collective_.element) == kReduced.end()) return false;
  if (algorithm != Algorithm::symmetric_multicast) return true;
  // Of two GPUs NCCL makes no multicast group; the switches of Hoppers do not add up 8-bit floats.
  if (!communicator_.nvls || communicator_.ranks <= 2) return false;
  if (adds && collective_.element == Element::float8 && communicator_.gpu == Gpu::hopper) return false;
  return protocol != Protocol::ll || !adds || !is_in_parts(collective_.operation);
}

SymmetricKernels::Kernel SymmetricKernels::kernel(Algorithm algorithm, Protocol protocol,
                                                  const RingLines& lines) const {
  const double n = communicator_.ranks;
  const auto& of = communicator_.gpu == Gpu::blackwell ? kBlackwell : kHopper;
  bool is_all_reduce = !is_in_parts(collective_.operation);
  bool is_low = protocol == Protocol::ll, is_multicast = algorithm == Algorithm::symmetric_multicast;
  bool adds_in_switch = is_all_reduce && is_multicast && !is_low;
  Kernel kernel{};
  kernel.bytes = is_low           ? kLowLatencyBytes * (is_all_reduce ? n : 1)
                 : adds_in_switch ? 1 + 1 / n
                                  : busbw_factor(collective_.operation, communicator_.ranks);
  kernel.latency = of.latency(collective_.operation, is_low);
  kernel.block = (is_all_reduce ? of.all_reduce_block : of.block) * kGiBps;
  kernel.multiplier = multiplier_of(is_multicast, is_low, is_all_reduce, n);
  kernel.peak = (adds_in_switch ? of.peak_in_switch : of.peak) * kGiBps;
  kernel.most_blocks = kMostBlocks;
  if (is_multicast && !is_low)
    kernel.most_blocks = (of.multicast_blocks + communicator_.ranks - 1) / communicator_.ranks;
  // The peaks are of machines with their class's NVLink.
  double link = communicator_.nvlink_peak.value() / 1e6;
  kernel.links = kernel.peak * link / (class_link(class_of(communicator_)).value() / 1e6);
  if (adds_in_switch) {
    auto generation = static_cast<std::size_t>(generation_of(communicator_.gpu));
    kernel.links = link * lines.nvls_large_link * constants(kNewestVersion).nvls_efficiency[generation];
  }
  return kernel;
}

SymmetricKernels::Estimate SymmetricKernels::estimate(const Kernel& kernel, double bytes) {
  auto with = [&](int blocks) {
    double bandwidth = soft_min(blocks * kernel.block * kernel.multiplier, kernel.peak, kernel.block);
    return kernel_time(bytes * kernel.bytes, kernel.latency, bandwidth);
  };
  double least = with(kernel.most_blocks);
  for (int blocks = 1; blocks < kernel.most_blocks; ++blocks)
    if (double time = with(blocks); time <= kTolerance * least) return {time, blocks};
  return {least, kernel.most_blocks};
}

Seconds SymmetricKernels::time(const Candidate& candidate, Bytes bytes) const {
  auto place = std::find_if(candidates_.begin(), candidates_.end(), [&](const Candidate& other) {
    return other.algorithm == candidate.algorithm && other.protocol == candidate.protocol;
  });
  DDPSIM_CHECK(place != candidates_.end(), "a kernel that there is");
  const auto& known = kernels_[static_cast<std::size_t>(place - candidates_.begin())];
  double by_links = kernel_time(bytes.value() * known.bytes, known.latency, known.links);
  return Seconds(std::max(estimate(known, bytes.value()).time, by_links) * 1e-6);
}

std::optional<SymmetricKernels::Choice> SymmetricKernels::choose(Bytes bytes) const {
  if (bytes.value() >= kLargest) return std::nullopt;
  std::optional<std::size_t> best;
  double least = 0;
  int blocks = 0;
  for (std::size_t i = 0; i < kernels_.size(); ++i) {
    if (candidates_[i].protocol == Protocol::ll && bytes.value() >= kLargestLowLatency) continue;
    auto estimated = estimate(kernels_[i], bytes.value());
    double price = estimated.time * (1 + kBlockPrice * estimated.blocks);
    if (best && price >= least) continue;
    best = i;
    least = price;
    blocks = estimated.blocks;
  }
  if (!best) return std::nullopt;
  const auto& candidate = candidates_[*best];
  return Choice{&candidate, time(candidate, bytes), blocks};
}

}  // namespace ddpsim::nccl
