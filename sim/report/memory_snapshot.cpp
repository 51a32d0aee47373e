#include "sim/report/memory_snapshot.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string_view>
#include <vector>

#include "sim/report/charts.hpp"

namespace ddpsim {
namespace {

// Python's pickle, protocol 2 (pickletools.py): what stands between a mark and its opcode are items.
class Pickle {
 public:
  Pickle() { text_ = "\x80\x02"; }
  [[nodiscard]] std::string take() { return std::move(text_ += '.'); }

  void open_map() { text_ += "}("; }
  void close_map() { text_ += 'u'; }
  void open_list() { text_ += "]("; }
  void close_list() { text_ += 'e'; }
  void write(std::string_view text) {
    text_ += 'X';
    little_endian(text.size(), 4);
    text_ += text;
  }
  void write(std::uint64_t number) {
    text_ += '\x8a';  // of eight bytes, no more of which the viewer takes as a number; the sign is not set
    text_ += '\x08';
    little_endian(number, 8);
  }
  void write(std::string_view key, std::string_view text) {
    write(key);
    write(text);
  }
  void write(std::string_view key, std::uint64_t number) {
    write(key);
    write(number);
  }

 private:
  void little_endian(std::uint64_t number, int bytes) {
    for (int i = 0; i < bytes; ++i) {
      text_ += static_cast<char>(number & 0xff);
      number >>= 8;
    }
  }
  std::string text_;
};

constexpr std::uint64_t kAlignment = 512;  // CUDACachingAllocator.cpp, kMinBlockSize

}  // namespace

std::string memory_snapshot(std::span<const MemoryEvent> events) {
  Pickle pickle;
  pickle.open_map();
  pickle.write("segments");
  pickle.open_list();
  pickle.close_list();
  pickle.write("device_traces");
  pickle.open_list();
  pickle.open_list();
  std::vector<std::uint64_t> addresses;
  std::uint64_t next = kAlignment;
  for (const auto& event : events) {
    auto size = static_cast<std::uint64_t>(std::llround(event.bytes.value()));
    if (event.allocation == addresses.size()) {
      addresses.push_back(next);
      next += (size + kAlignment - 1) / kAlignment * kAlignment;
    }
    pickle.open_map();
    pickle.write("action", event.is_freed ? "free_completed" : "alloc");
    pickle.write("addr", addresses[event.allocation]);
    pickle.write("size", size);
    pickle.write("stream", std::uint64_t{0});
    pickle.write("frames");
    pickle.open_list();
    pickle.open_map();
    pickle.write("name", event.what);
    pickle.write("filename", "ddpsim");
    pickle.write("line", std::uint64_t{0});
    pickle.close_map();
    pickle.close_list();
    pickle.close_map();
  }
  pickle.close_list();
  pickle.close_list();
  pickle.close_map();
  return pickle.take();
}

Chart memory_chart(std::span<const MemoryEvent> events, Bytes capacity, const std::string& title) {
  Chart chart{title, "as PyTorch's allocator hands it out and takes it back"};
  Series handed_out{"handed out", Shape::line, group_style(0)};
  handed_out.style.marker = Marker::none;
  double most = capacity.value() / 1e9, at = 0;
  for (auto level : levels(events)) {
    double height = level.value() / 1e9;
    if (!handed_out.points.empty()) handed_out.points.push_back({at, handed_out.points.back().y});
    handed_out.points.push_back({at, height});
    most = std::max(most, height);
    ++at;
  }
  chart.series.push_back(std::move(handed_out));
  Series whole{"the GPU's memory", Shape::line, group_style(1)};
  whole.style.marker = Marker::none;
  whole.points = {{0, capacity.value() / 1e9}, {at, capacity.value() / 1e9}};
  chart.series.push_back(std::move(whole));
  chart.x = {"allocations and releases of a step", 0, std::max(at, 1.0)};
  chart.y = {"GB", 0, 1.05 * most};
  return chart;
}

}  // namespace ddpsim
