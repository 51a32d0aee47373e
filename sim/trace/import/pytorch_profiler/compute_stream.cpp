#include "sim/trace/import/pytorch_profiler/compute_stream.hpp"

#include <algorithm>
#include <map>

namespace ddpsim::pytorch_profiler {
namespace {

std::int32_t busiest_stream(const Profile& profile) {
  std::map<std::int32_t, Time> busy;
  for (const auto& work : profile.gpu_work)
    if (work.kind == GpuWorkKind::kernel) busy[work.stream] += work.end - work.start;
  auto most = std::max_element(busy.begin(), busy.end(),
                               [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == busy.end() ? -1 : most->first;
}

}  // namespace

ComputeStream::ComputeStream(const Profile& profile) {
  auto stream = busiest_stream(profile);
  for (const auto& work : profile.gpu_work) {
    if (work.kind == GpuWorkKind::kernel) {
      kernels_.push_back(work);
      device_ = work.device;
    }
    const auto* launch = find_launch(profile, work.correlation);
    if (!launch) continue;
    if (work.kind == GpuWorkKind::kernel)
      by_launch_.push_back({launch->at, work.end - work.start, work.stream == stream});
    if (work.stream == stream) work_.push_back({launch->at, work.end});
  }
  if (!device_ && !profile.collective_kernels.empty()) device_ = profile.collective_kernels.front().device;
  kernels_ = united(std::move(kernels_));
  auto earlier = [](const auto& a, const auto& b) { return a.launched < b.launched; };
  std::sort(work_.begin(), work_.end(), earlier);
  std::sort(by_launch_.begin(), by_launch_.end(), earlier);
  for (std::size_t i = 1; i < work_.size(); ++i)
    work_[i].all_done = std::max(work_[i].all_done, work_[i - 1].all_done);
}

Time ComputeStream::event(Time recorded) const {
  auto after = std::upper_bound(work_.begin(), work_.end(), recorded,
                                [](Time moment, const Work& work) { return moment < work.launched; });
  return after == work_.begin() ? recorded : std::max(recorded, std::prev(after)->all_done);
}

ComputeStream::KernelTimes ComputeStream::kernel_times(Span launched) const {
  KernelTimes times;
  auto first = std::lower_bound(by_launch_.begin(), by_launch_.end(), launched.start,
                                [](const Kernel& kernel, Time moment) { return kernel.launched < moment; });
  for (auto kernel = first; kernel != by_launch_.end() && kernel->launched < launched.end; ++kernel)
    (kernel->here ? times.here : times.elsewhere) += kernel->duration;
  return times;
}

double ComputeStream::busy_share(Span time) const {
  if (time.end <= time.start) return 0;
  return static_cast<double>(time_within(kernels_, time).count()) /
         static_cast<double>((time.end - time.start).count());
}

}  // namespace ddpsim::pytorch_profiler
