#pragma once
// What a measurement tells: it weighs the draws, and what another job shares with the measured one is known
// better there by as much as they share.
#include <optional>
#include <span>
#include <string_view>

#include "sim/base/units.hpp"
#include "sim/evidence/evidence.hpp"
#include "sim/evidence/interval.hpp"

namespace ddpsim {

// Weights of the draws after a job took `measured`: Student's t with four degrees of freedom of how far each
// draw of it is away, in logarithms, in units of `row`, what a measurement has of its own. None where no draw
// comes within four of them: what is described is not what was measured. Earlier weights multiply.
std::optional<Weights> condition(std::span<const Seconds> predicted, Seconds measured, double row,
                                 const Weights& before = {});

// The time in each draw of a job whose response is by names of classes.
std::vector<Seconds> draws_of(const Response& response, const Evidence& evidence, std::size_t draws);
// Of all that was measured, together; empty: nothing was. None: no draw comes near one of them.
std::optional<Weights> weights_of(const Evidence& evidence, std::size_t draws);
// The values of one in so many draws, or in those that what was measured leaves.
std::vector<double> picked_values(const Unknown& unknown, const Evidence& evidence, std::size_t draws);
// Sets `picked` by what was measured; whether any draw comes near.
bool weigh(Evidence& evidence);

// A measurement that could be made: what it would take in every draw, drawn together with the job.
struct Measurable {
  std::string_view name;
  std::span<const Seconds> draws;
  double row;
};
// How wide the job's interval is after it, on average over what may come out.
double width_after(std::span<const Seconds> job, const Measurable& measurable, double share);

}  // namespace ddpsim
