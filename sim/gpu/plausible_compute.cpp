#include "sim/gpu/plausible_compute.hpp"

#include <algorithm>
#include <cctype>

#include <fmt/core.h>

#include "sim/base/letter_case.hpp"

namespace ddpsim {
namespace {

constexpr double kLeastShare = 0.03;

// "H100" of "NVIDIA H100 SXM5 80GB": the first word with a digit.
std::string_view model_word(std::string_view gpu) {
  for (std::size_t start = 0; start < gpu.size();) {
    auto end = std::min(gpu.find(' ', start), gpu.size());
    auto word = gpu.substr(start, end - start);
    if (std::any_of(word.begin(), word.end(), [](unsigned char c) { return std::isdigit(c); })) return word;
    start = end + 1;
  }
  return gpu;
}

}  // namespace

bool is_device(std::string_view device_name, std::string_view gpu) {
  auto device = upper_case(device_name), model = upper_case(model_word(gpu));  // "AMD Instinct Mi325X VF"
  auto is_digit = [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; };
  auto is_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; };
  // Not the B200 of a GB200, nor the H20 of an H200; "8xA100" and "RTX4090" have no blanks.
  for (auto at = device.find(model); at != std::string_view::npos; at = device.find(model, at + 1)) {
    auto end = at + model.size();
    bool ends = end == device.size() || !is_word(device[end]);
    char before = at == 0 ? ' ' : device[at - 1];
    bool begins = before == 'X' || !(is_digit(model.front()) ? is_digit(before) : is_word(before));
    if (begins && ends) return true;
  }
  return false;
}

std::vector<Note> compute_notes(const LayerTrace& trace, const GpuDescription& gpu) {
  const auto& metadata = trace.metadata;
  if (!metadata.device || !is_device(*metadata.device, gpu.name)) return {};
  if (!metadata.batch_size || !metadata.sequence_length || trace.backward() <= Seconds(0)) return {};
  double parameters = 0;
  for (const auto& gradient : trace.gradients) parameters += static_cast<double>(gradient.elements);
  double tokens = static_cast<double>(*metadata.batch_size) * static_cast<double>(*metadata.sequence_length);
  double rate = 4 * parameters * tokens / trace.backward().value();
  double highest = 0;
  for (const auto& [dtype, peak] : gpu.peak) highest = std::max(highest, peak.value());
  auto own = gpu.peak.find(precision_of(trace.gradients.front().dtype));
  double lowest = (own == gpu.peak.end() ? gpu.peak.at(Precision::float32) : own->second).value();
  if (rate <= highest && rate >= kLeastShare * lowest) return {};
  return {
      {"compute-implausible",
       fmt::format("the backward pass would compute {:.3g} TFLOP/s, {:.3g} % of what {} can: are ready_s in "
                   "seconds, elements and the batch those of one GPU?",
                   rate / 1e12, 100 * rate / (rate > highest ? highest : lowest), gpu.name)}};
}

}  // namespace ddpsim
