#include "validate/harness/environment_variable.hpp"
#include "validate/harness/rank_program.hpp"

#include "sim/base/limits.hpp"

namespace ddpsim::validate {

RankPlace rank_place_from_environment() {
  const std::string hint =
      "ddpsim starts this program; by hand, set RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR and MASTER_PORT";
  RankPlace place;
  place.world_size = required_number("WORLD_SIZE", 1, kLargestWorldSize, hint);
  place.rank = required_number("RANK", 0, place.world_size - 1, hint);
  place.local_rank = required_number("LOCAL_RANK", 0, place.world_size - 1, hint);
  if (environment_variable("LOCAL_WORLD_SIZE"))
    place.local_world_size =
        required_number("LOCAL_WORLD_SIZE", place.local_rank + 1, place.world_size, hint);
  place.master_address = required_variable("MASTER_ADDR", hint);
  place.meeting_file = environment_variable("DDPSIM_MEETING_FILE").value_or("");
  if (place.meeting_file.empty()) place.master_port = required_number("MASTER_PORT", 1, 65535, hint);
  if (environment_variable("DDPSIM_RANKS_HERE"))
    place.ranks_here = required_number("DDPSIM_RANKS_HERE", 1, place.world_size - place.rank, hint);
  place.interface = environment_variable("DDPSIM_INTERFACE").value_or("");
  return place;
}

}  // namespace ddpsim::validate
