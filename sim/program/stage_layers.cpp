#include "sim/program/stage_layers.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/source.hpp"

namespace ddpsim {
namespace {

// Whole ones from the front, the last stages take what is left.
std::vector<std::int64_t> example(std::int64_t layers, std::size_t stages) {
  std::vector<std::int64_t> of_stage(stages);
  auto many = static_cast<std::int64_t>(stages), each = (layers + many - 1) / many;
  for (auto& one : of_stage) one = std::min(each, layers), layers -= one;
  return of_stage;
}

struct Split {
  std::int64_t layers;
  int ranks, chunks;
  bool names_ends;  // the first or the last rank's number is given

  // `of` in `by` equal parts.
  [[nodiscard]] std::int64_t each(std::int64_t of, std::int64_t by, const char* what) const {
    if (by > 0 && of >= 0 && of % by == 0) return of / by;
    auto stages = static_cast<std::size_t>(ranks) * static_cast<std::size_t>(chunks);
    bool do_ends_count = !names_ends && (layers + 2) % static_cast<std::int64_t>(stages) == 0;
    throw InputError(
        fmt::format("{} layers are no {} equal {}", of, by, what),
        do_ends_count
            ? "write pipeline: {count_embedding: true, count_loss: true}: the first and the last stage then "
              "have a layer fewer"
            : fmt::format("say how many each has: pipeline: {{layers: [{}]}}, or {{layers: {{first: N, last: "
                          "N}}}}",
                          fmt::join(example(layers, stages), ", ")));
  }
};

}  // namespace

std::vector<std::int64_t> split_layers(std::int64_t layers, int ranks, int chunks, const StageRule& rule) {
  Split split{layers, ranks, chunks, rule.first || rule.last};
  if (layers + 2 < std::int64_t{ranks} * chunks)
    throw InputError(
        fmt::format("{} stages, and the model has {} layers", std::int64_t{ranks} * chunks, layers),
        "use fewer stages or chunks");
  std::vector<std::int64_t> of_rank(static_cast<std::size_t>(ranks));
  if (rule.first || rule.last) {
    auto left = layers - rule.first.value_or(0) - rule.last.value_or(0);
    int between = ranks - (rule.first ? 1 : 0) - (rule.last ? 1 : 0);
    std::int64_t each = between == 0 && left == 0 ? 0 : split.each(left, between, "other stages");
    std::ranges::fill(of_rank, each);
    if (rule.first) of_rank.front() = *rule.first;
    if (rule.last) of_rank.back() = *rule.last;
  } else {
    auto counted = layers + (rule.count_embedding ? 1 : 0) + (rule.count_loss ? 1 : 0);
    std::ranges::fill(of_rank, split.each(counted, ranks, "stages"));
  }
  std::vector<std::int64_t> of_stage;
  for (int chunk = 0; chunk < chunks; ++chunk)
    for (auto count : of_rank) of_stage.push_back(split.each(count, chunks, "chunks"));
  if (rule.count_embedding) --of_stage.front();
  if (rule.count_loss) --of_stage.back();
  return of_stage;
}

}  // namespace ddpsim
