#pragma once
// Open MPI's algorithms as this project's schedules.
#include "sim/collective/algorithms.hpp"
#include "sim/mpi/decision.hpp"

namespace ddpsim {

// Which algorithm's schedule gives the time of one, and what the time then is; "": its own.
struct MpiTiming {
  mpi::Algorithm timed_as;
  std::string_view time_is;
};
MpiTiming mpi_timing(Operation operation, mpi::Algorithm algorithm);

// Whether it is two other operations, one after the other: an all-reduce that reduces and then broadcasts.
bool is_in_two(Operation operation, mpi::Algorithm algorithm);

// What the time of the algorithm that is picked is, or of either of two; "": its own.
std::string_view mpi_time_is(Operation operation, int ranks, Bytes bytes);

// Of one that is not in two, after mpi_timing. Throws InputError where it would have too many messages.
CollectiveSchedule mpi_schedule(Operation operation, mpi::Algorithm algorithm, const Wiring& wiring);

}  // namespace ddpsim
