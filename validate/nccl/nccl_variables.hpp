#pragma once
// What NCCL is told in environment variables (NCCL's user guide, "Environment Variables").
#include "validate/harness/collective_backend.hpp"
#include "validate/harness/rank_program.hpp"

namespace ddpsim::validate {

// Sets what this run needs and the user has not set, before the first call of NCCL in this process; later
// calls do nothing.
//   DDPSIM_INTERFACE: NCCL_SOCKET_IFNAME.
//   DDPSIM_SHARE_GPU=1, an odd functional test: all ranks on GPU 0. NCCL refuses two ranks on a GPU of one
//   host, so each process says that it is a host of its own (NCCL_HOSTID), and they talk over sockets.
//   Kernels of different processes take turns on a GPU: times mean nothing. Throws InputError when several
//   ranks share this process.
void set_nccl_variables(const RankPlace& place);

// All that are set, by name.
Environment nccl_variables();

}  // namespace ddpsim::validate
