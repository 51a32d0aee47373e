#pragma once
// Sorts a trace's events into a Profile; most are none of its business.
#include <map>
#include <set>
#include <string>
#include <unordered_map>

#include "sim/trace/compressed_text.hpp"
#include "sim/trace/import/pytorch_profiler/profile.hpp"

namespace ddpsim::pytorch_profiler {

class ProfileBuilder {
 public:
  // Errors name places in `text`, which must outlive this.
  explicit ProfileBuilder(const CompressedText& text) : text_(text) {}

  // Throws InputError when an event that counts has no valid time, and when there are too many of them.
  void add(const Event& event);

  // The profile, in order. Throws InputError for several processes or GPUs, and for launches that cannot be
  // told apart.
  Profile finish();

 private:
  void add_operator(const Event& event);
  void add_node(const Event& event);
  void add_tensor_list(const Event& event);
  void add_launch(const Event& event);
  void add_gpu_work(const Event& event, GpuWorkKind kind);
  void add_collective_kernel(const Event& event, CollectiveKind kind);
  [[nodiscard]] ThreadSpan thread_span(const Event& event);
  [[nodiscard]] Span span(const Event& event);  // counts the event as kept
  [[nodiscard]] std::uint32_t thread(const Event& event);
  [[nodiscard]] std::uint32_t process(const Event& event);
  [[nodiscard]] std::int32_t small_number(const Event& event, std::string_view what,
                                          std::optional<std::int64_t> argument,
                                          const std::string& field) const;
  void sort_launches();  // and keeps of each call the outermost record

  const CompressedText& text_;
  Profile profile_;
  std::size_t kept_ = 0;
  std::unordered_map<std::string, std::uint32_t> threads_, launching_processes_;
  std::set<std::string> processes_;  // that evaluate autograd nodes
  std::set<std::int32_t> devices_;   // that run kernels
};

}  // namespace ddpsim::pytorch_profiler
