#pragma once
// What a fabric gives: in `variability.weather`, and in each row of a file of weather.
#include "sim/job/job.hpp"
#include "sim/keys/table.hpp"

namespace ddpsim::job {

keys::Type<Shares> shares_rows();
struct SharesOfNodes : Shares {
  int nodes = 2;
};
keys::Type<SharesOfNodes> weather_rows();

}  // namespace ddpsim::job
