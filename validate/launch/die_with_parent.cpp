#include "validate/launch/die_with_parent.hpp"

#include <csignal>

#include <sys/prctl.h>
#include <unistd.h>

namespace ddpsim::validate {

void die_with_parent(pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);
}

}  // namespace ddpsim::validate
