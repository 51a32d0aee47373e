#pragma once
// An entry of `cluster.overrides`, and of a topology file's `overrides`.
#include "sim/job/job.hpp"
#include "sim/keys/table.hpp"

namespace ddpsim::job {

// Which name one of `links` only, or nodes too.
enum class Overridden { links, links_and_nodes };
keys::Type<Override> override_rows(Overridden what);

}  // namespace ddpsim::job
