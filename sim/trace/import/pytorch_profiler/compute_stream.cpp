#include "sim/trace/import/pytorch_profiler/compute_stream.hpp"

#include <algorithm>
#include <map>

namespace ddpsim::pytorch_profiler {
namespace {

std::int32_t busiest_stream(const Profile& profile) {
  std::map<std::int32_t, std::size_t> kernels;
  for (const auto& work : profile.gpu_work)
    if (work.kind == GpuWorkKind::kernel) ++kernels[work.stream];
  auto most = std::max_element(kernels.begin(), kernels.end(),
                               [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == kernels.end() ? -1 : most->first;
}

// Where at least one of the spans is.
std::vector<Span> united(std::vector<Span> spans) {
  std::sort(spans.begin(), spans.end(), [](const Span& a, const Span& b) { return a.start < b.start; });
  std::vector<Span> all;
  for (const auto& span : spans) {
    if (all.empty() || span.start > all.back().end)
      all.push_back(span);
    else
      all.back().end = std::max(all.back().end, span.end);
  }
  return all;
}

}  // namespace

ComputeStream::ComputeStream(const Profile& profile) {
  auto stream = busiest_stream(profile);
  for (const auto& work : profile.gpu_work) {
    if (work.kind == GpuWorkKind::kernel) {
      kernels_.push_back(work);
      device_ = work.device;
    }
    if (work.stream != stream) continue;
    if (const auto* launch = find_launch(profile, work.correlation)) work_.push_back({launch->at, work.end});
  }
  if (!device_ && !profile.collective_kernels.empty()) device_ = profile.collective_kernels.front().device;
  kernels_ = united(std::move(kernels_));
  std::sort(work_.begin(), work_.end(), [](const Work& a, const Work& b) { return a.launched < b.launched; });
  for (std::size_t i = 1; i < work_.size(); ++i)
    work_[i].all_done = std::max(work_[i].all_done, work_[i - 1].all_done);
}

Time ComputeStream::event(Time recorded) const {
  auto after = std::upper_bound(work_.begin(), work_.end(), recorded,
                                [](Time moment, const Work& work) { return moment < work.launched; });
  return after == work_.begin() ? recorded : std::max(recorded, std::prev(after)->all_done);
}

double ComputeStream::busy_share(Span time) const {
  if (time.end <= time.start) return 0;
  Time busy{};
  auto first = std::lower_bound(kernels_.begin(), kernels_.end(), time.start,
                                [](const Span& kernel, Time moment) { return kernel.end < moment; });
  for (auto kernel = first; kernel != kernels_.end() && kernel->start < time.end; ++kernel)
    busy += std::min(kernel->end, time.end) - std::max(kernel->start, time.start);
  return static_cast<double>(busy.count()) / static_cast<double>((time.end - time.start).count());
}

}  // namespace ddpsim::pytorch_profiler
