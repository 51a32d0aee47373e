#include "sim/report/best_caps.hpp"

#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/counted.hpp"
#include "sim/base/quantity.hpp"
#include "sim/report/cap_advice.hpp"

namespace ddpsim {
namespace {

std::string show_bytes(Bytes bytes) {
  double mebibytes = bytes / Bytes(0x1p20);
  return mebibytes >= 1 && mebibytes == std::floor(mebibytes) ? fmt::format("{:.0f}MiB", mebibytes)
                                                              : fmt::format("{:.0f}B", bytes.value());
}

// How much PyTorch's default loses, and how sure that is.
std::string default_text(const BestCaps& best) {
  const auto& usual = best.usual;
  if (!usual.odds) return {};
  auto text = fmt::format("PyTorch's default: {}, {}; {}", counted(usual.buckets, "bucket"),
                          format_seconds(usual.iteration), longer_text(*usual.odds));
  if (usual.odds->is_tied) text += ": not told apart, so nothing needs to be set";
  return text + '\n';
}

std::string caps_found_text(const BestCaps& best) {
  auto buckets = [](const BestCaps::Choice& choice) {
    return fmt::format("{} bucket{}, {}", choice.buckets, choice.buckets == 1 ? "" : "s",
                       format_seconds(choice.iteration));
  };
  std::string text = fmt::format("\nbest single cap: {}\n  --set ddp.bucket_cap={}\n", buckets(best.single),
                                 show_bytes(best.single.caps.front()));
  auto gain = best.single.iteration - best.list.iteration;
  if (gain <= Seconds(1e-9) * best.single.iteration.value())
    return text + (best.left_out.empty()
                       ? "no list of caps is better\n"
                       : fmt::format("no better list of caps was found, by a search that leaves out {}\n",
                                     best.left_out));
  std::vector<std::string> caps, mebibytes;
  for (auto cap : best.list.caps) {
    caps.push_back(show_bytes(cap));
    mebibytes.push_back(fmt::format("{}", cap / Bytes(0x1p20)));
  }
  text += fmt::format("best list of caps: {}, {:.2f} % less\n", buckets(best.list),
                      100 * (gain / best.single.iteration));
  text += fmt::format("  --set ddp.torch=2.11 --set 'ddp.bucket_caps=[{}]'\n", fmt::join(caps, ","));
  text += fmt::format("  bucket_cap_mb_list=[{}]\n", fmt::join(mebibytes, ", "));
  if (!best.left_out.empty())
    text += fmt::format("  (simulated; the search for it leaves out {}, so that a better one may exist)\n",
                        best.left_out);
  return text;
}

}  // namespace

std::string best_caps_text(const BestCaps& best) {
  return caps_found_text(best) + default_text(best);
}

}  // namespace ddpsim
