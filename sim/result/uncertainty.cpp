#include "sim/result/uncertainty.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "sim/base/check.hpp"

namespace ddpsim {
namespace {

constexpr double kFewFamilies = 3;                   // fewer are a hypothesis
constexpr double kNoteworthy = 0.1;                  // a middle that is said in words
constexpr double kShareOfWidest = 0.2, kWide = 0.2;  // parts of as much of the widest, or as wide, are named

std::string_view whose_time(Subject of) {
  if (of == Subject::network) return "such collectives";
  return of == Subject::compute ? "such compute" : "such jobs";
}

// Those draws that what was measured leaves.
std::vector<Seconds> drawn(const Response& response, const Unknowns& unknowns, const Evidence* evidence) {
  if (!evidence || evidence->picked.empty()) return draws_of(response, unknowns, kUsualDraws);
  auto all = draws_of(response, unknowns, kDrawsToWeigh);
  std::vector<Seconds> picked;
  picked.reserve(evidence->picked.size());
  for (auto draw : evidence->picked) picked.push_back(all[draw]);
  return picked;
}

}  // namespace

std::string Uncertainty::Part::phrase() const {
  auto text = what;
  if (line.families == 0) text += ", declared";
  if (line.families == 1) text += ", from one source";
  bool is_factor = of->of != Subject::physics && line.states.size() == 1;
  double middle = line.middle();
  if (is_factor && std::abs(middle) >= kNoteworthy && line.families > 0)
    text += fmt::format("{} {} took {:.2g} times as long", line.families < kFewFamilies ? "," : ";",
                        whose_time(of->of), std::exp(middle));
  return text;
}

Uncertainty::Uncertainty(Response response, const Unknowns& unknowns, std::vector<Part> parts,
                         std::shared_ptr<const Evidence> evidence, std::vector<Seconds> simulated)
    : parts_(std::move(parts)),
      evidence_(std::move(evidence)),
      times_(simulated.empty() ? drawn(response, unknowns, evidence_.get()) : std::move(simulated)) {
  likely_ = interval_of(times_, kLikely);
  middle_ = interval_of(times_, kMiddle);
  for (auto& part : parts_) {
    auto name = name_of(*part.of);
    DDPSIM_CHECK(unknowns.contains(name), "a part is drawn");
    part.width = interval_of(drawn(response, {{name, unknowns.at(name)}}, evidence_.get()), kLikely).width();
  }
  std::ranges::stable_sort(parts_, std::greater{}, &Part::width);
}

std::vector<std::string> Uncertainty::phrases() const {
  std::vector<std::string> all;
  for (const auto& part : parts_)
    if (part.width > 0 && part.width >= std::min(kShareOfWidest * parts_.front().width, kWide))
      all.push_back(part.phrase());
  return all;
}

}  // namespace ddpsim
