#pragma once
// AMD's GPUs: their library of collectives is RCCL, which is not modelled.
#include "sim/engine/scenario.hpp"
#include "sim/resolve/files.hpp"

namespace ddpsim {

bool is_of_amd(const GpuDescription& gpu);

// Code rccl-unmodelled.
Note rccl_note();

// Says so where collectives are schedules over the links, in place of plain-rings. Throws InputError where
// NCCL's model would answer for GPUs of AMD.
void say_rccl(const GivenJob& given, const GpuDescription* gpu, const Topology& topology, Scenario& scenario);

}  // namespace ddpsim
