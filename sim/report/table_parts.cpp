#include "sim/report/table_parts.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/core.h>

#include "sim/base/quantity.hpp"
#include "sim/report/figures.hpp"

namespace ddpsim {
namespace {

std::string cap_text(const IterationMetrics& metrics) {
  return metrics.bucket_cap ? format_bytes(*metrics.bucket_cap) : "-";
}

}  // namespace

std::string short_title(const std::vector<std::string>& axes, const std::string& key) {
  if (key == "cluster.world_size") return "GPUs";
  auto last_part = [](const std::string& path) { return path.substr(path.rfind('.') + 1); };
  auto same = std::ranges::count(axes, last_part(key), last_part);
  return same > 1 ? key : last_part(key);
}

std::vector<std::string> axis_cells(const std::vector<std::string>& axes,
                                    const std::vector<std::string>& values, const IterationMetrics& metrics) {
  std::vector<std::string> cells;
  for (std::size_t i = 0; i < axes.size(); ++i)
    cells.push_back(axes[i] == kBucketCapAxis ? cap_text(metrics) : values.at(i));
  return cells;
}

std::string point_name(const std::vector<std::string>& axes, const std::vector<std::string>& values,
                       const IterationMetrics& metrics) {
  std::string name;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto& written = values.at(i);
    const auto& cap = metrics.bucket_cap;
    if ((axes[i] == kBucketCapAxis && !cap) || written == kUnusedValue) continue;  // the strategy has none
    name += fmt::format("{}{} {}", name.empty() ? "" : ", ", axes[i], written);
    if (axes[i] == kBucketCapAxis && cap && written == fmt::format("{:.0f}B", cap->value()))
      name += fmt::format(" ({})", format_bytes(*cap));
  }
  return name;
}

namespace {

// 1.5e13 is "15T".
std::string count_text(double count) {
  constexpr std::pair<double, const char*> kUnits[] = {{1e12, "T"}, {1e9, "B"}, {1e6, "M"}, {1e3, "K"}};
  for (const auto& [unit, name] : kUnits)
    if (count >= unit) return fmt::format("{:.4g}{}", count / unit, name);
  return fmt::format("{:.4g}", count);
}

std::string money_text(double money) {
  return money >= 1e6 ? fmt::format("{:.3g} million", money / 1e6) : fmt::format("{:.0f}", money);
}

}  // namespace

std::string likely_text(const IterationMetrics& metrics) {
  if (!metrics.uncertainty) return time_text(metrics.iteration.value());
  auto likely = metrics.uncertainty->likely();
  if (metrics.iteration < likely.least || metrics.iteration > likely.most)
    return fmt::format("{}, but 80 % sure of {} to {}", time_text(metrics.iteration.value()),
                       time_text(likely.least.value()), time_text(likely.most.value()));
  return time_text(metrics.iteration.value(), likely.least.value(), likely.most.value(), "80 % sure");
}

std::string_view cause_name(const LossCauseRow& row) {
  return row.cause == LossCause::ends ? "waiting" : row.key;
}

std::string training_text(const IterationMetrics& metrics) {
  auto days = metrics.training_days();
  if (!days) return "";
  auto text = fmt::format("{} tokens in {:.3g} days", count_text(*metrics.training_tokens), *days);
  if (metrics.goodput) text += ", with what failures lose";
  if (auto cost = metrics.training_cost())
    text += fmt::format(", {} at {:.4g} a GPU and hour", money_text(*cost), *metrics.price);
  return text;
}

std::string ms_text(Seconds time) {
  return fmt::format("{:.3f}", time.value() * 1e3);
}

std::string percent_text(std::optional<double> share) {
  if (!share) return "-";
  double percent = std::round(1000 * *share) / 10;
  return fmt::format("{:+.1f} %", percent == 0 ? 0.0 : percent);  // no -0.0
}

}  // namespace ddpsim
