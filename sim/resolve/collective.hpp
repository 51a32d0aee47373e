#pragma once
// The section `collective`: who carries collectives out, over what, and what they take.
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "sim/cost/communication.hpp"
#include "sim/engine/scenario.hpp"
#include "sim/resolve/files.hpp"
#include "sim/strategies/parameter_server.hpp"
#include "sim/strategy/communicators.hpp"

namespace ddpsim {

// What the section asks for, and who communicates.
struct Collective {
  CollectiveOptions options;
  std::vector<CommunicatorUse> communicators;  // the strategy's
  std::vector<std::size_t> program_of_rank;    // likewise; empty: all ranks have one
  std::optional<int> shards;                   // ranks of a shard group, where one is said
  std::optional<ServerOptions> servers;        // of strategy parameter_server
  Backend backend = Backend::nccl;
  int workers = 1;
  bool is_auto = true;
  bool automatic = true;  // what NCCL would do, where the topology describes it; else rings
  std::shared_ptr<const MeasuredTable> table;  // null: simulate the topology
  SourceSpan place;                            // of the algorithm, or the best there is
};
Collective find_collective(Files& files, const GivenJob& given);

// Whether Gloo copies between GPUs and hosts here, a library's model (Gloo's, MPI's) says what collectives
// take, or NCCL's. Throw InputError when the section asks for something else.
bool uses_library(const GivenJob& given, const Topology& topology, const Collective& collective);
bool uses_gloo(const GivenJob& given, const Topology& topology, const Collective& collective);
bool uses_nccl(const GivenJob& given, const Topology& topology, const Collective& collective);

// The links of a what-if, and of `collective.scale` where they say what collectives take.
LinkScale link_scale(const Files& files, const GivenJob& given, const Topology& topology,
                     const Collective& collective);
// `collective.scale` where a model says it, which must know all of it.
void scale_models(const GivenJob& given, Communication& communication);
// Throws InputError where links are shared, whose bandwidth a model does not scale.
void check_scale(const GivenJob& given, const Communication& communication);

// What `collective.nccl` leaves NCCL to choose from.
nccl::Allowed allowed_of(const GivenJob& given);
// A model a group.
void add_nccl_models(Files& files, const GivenJob& given, const NcclPlatform& platform,
                     Communication& communication);

// Throws InputError (without a place) where more than one group communicates.
void add_library_model(const GivenJob& given, const Topology& topology, const Collective& collective,
                       Communication& communication);
void add_library_notes(const GivenJob& given, const Topology& topology, const Collective& collective,
                       const Communication& communication, std::vector<Note>& notes);
// What is assumed of MPI, and of machines on which Gloo runs.
Note mpi_note(const Topology& topology);
Note usual_gloo_note();
void add_gloo_model(const GivenJob& given, const Topology& topology, Communication& communication);
void add_gloo_notes(const GivenJob& given, const Topology& topology, const Collective& collective,
                    const Communication& communication, std::vector<Note>& notes);

}  // namespace ddpsim
