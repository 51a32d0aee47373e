#include "sim/text/gpu_file.hpp"

#include <fmt/format.h>

#include "sim/base/limits.hpp"
#include "sim/keys/types.hpp"
#include "sim/nccl/gpus.hpp"
#include "sim/text/file_rows.hpp"
#include "sim/topology/amd_gpus.hpp"

namespace ddpsim::gpu_keys {
namespace {

using namespace keys;

Type<std::map<Precision, FlopsPerSecond>> peaks() {
  using Given = std::map<Precision, std::optional<FlopsPerSecond>>;
  Rows<Given> rows("peak");
  auto add = [&](std::string_view name, Precision precision) {
    rows.at<std::optional<FlopsPerSecond>>(
        name, maybe(flops_rate()), [precision](Given & peaks) -> auto& { return peaks[precision]; },
        "Of matrix products");
  };
  add("float32", Precision::float32);
  rows.required();
  for (const auto& [name, precision] : kPrecisionNames)
    if (precision != Precision::float32) add(name, precision);
  using Peaks = std::map<Precision, FlopsPerSecond>;
  return made_of<Peaks, Given>(
      nested(rows),
      [](const Given& given, const Value&) {
        Peaks peaks;
        for (const auto& [precision, peak] : given)
          if (peak) peaks.emplace(precision, *peak);
        return peaks;
      },
      [](const Peaks& peaks) { return Given(peaks.begin(), peaks.end()); });
}

Type<Range> range() {
  using Ends = std::vector<double>;
  return made_of<Range, Ends>(
      list(number(0, kLargestInterference)),
      [](const Ends& ends, const Value& value) {
        if (ends.size() != 2)
          throw InputError(value.span, fmt::format("a range has two ends, not {}", ends.size()),
                           "write it like [0.1, 0.65]; a number that is known is [0.26, 0.26]");
        if (ends[0] > ends[1])
          throw InputError(value.span, fmt::format("the range's {} is above its {}", ends[0], ends[1]),
                           "swap them");
        return Range{ends[0], ends[1]};
      },
      [](const Range& range) {
        return Ends{range.least, range.most};
      });
}

Section gpu_rows() {
  using Gpu = GpuDescription;
  config::Words<std::string> architectures;
  for (const auto& chip : nccl::kChips)
    if (chip.counted_as && !chip.name.ends_with(")")) architectures.emplace_back(chip.name, chip.name);
  for (const auto& amd : kAmdArchitectures) architectures.emplace_back(amd.name, amd.name);
  auto share = above_zero(number(0, 1), "a share of zero never ends", "write a number above 0, up to 1");
  auto copy = nested(Rows<Gpu>("copy")
                         .key<&Gpu::copy_efficiency>("efficiency", share, "Share of the memory bandwidth")
                         .key<&Gpu::copy_launch>("launch", time(), "Of one kernel"));
  auto interference =
      nested(Rows<Gpu>("interference")
                 .key<&Gpu::compute_slowdown>("compute", range(), "Of a kernel, while a collective runs")
                 .key<&Gpu::collective_slowdown>("collective", range(), "The other way round"));
  return Rows<Gpu>("gpu")
      .kind("gpu")
      .needs<&Gpu::name>("name", text(), "Of the GPU")
      .key<&Gpu::architecture>("architecture", word(architectures),
                               "NVIDIA's as NCCL's tuner tells them apart; AMD's")
      .key<&Gpu::same_chip>("same_chip", list(text()), "Other GPUs with this chip, the likest first")
      .needs<&Gpu::multiprocessors>("multiprocessors", whole(1, kMostMultiprocessors), "SMs or CUs")
      .needs<&Gpu::memory>("memory", above_zero(size(), "a GPU without memory", "write it like 80GB"),
                           "Its size")
      .needs<&Gpu::memory_bandwidth>("memory_bandwidth", bandwidth(), "By the data sheet")
      .needs<&Gpu::peak>("peak", peaks(), "Of matrix products without sparsity")
      .key<&Gpu::peer_to_peer>("peer_to_peer", boolean(), "Whether its driver allows it over PCIe")
      .whole("copy", copy, "Of gradients into and out of buckets")
      .whole("interference", interference, "Slowdown of compute and collectives by one another");
}

}  // namespace
}  // namespace ddpsim::gpu_keys

namespace ddpsim {

const keys::Section& file_rows::gpu() {
  static const keys::Section section = gpu_keys::gpu_rows();
  return section;
}

GpuDescription read_gpu(const std::string& path) {
  return keys::read_root<GpuDescription>(file_rows::gpu(), config::load_yaml(path, "a GPU"));
}

}  // namespace ddpsim
