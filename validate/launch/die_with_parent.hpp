#pragma once
#include <sys/types.h>

namespace ddpsim::validate {

// In a child: from here on it is killed when the thread that forked it ends; at once where `parent` is gone
// already. The kernel forgets it when the process changes its credentials. Safe after fork.
void die_with_parent(pid_t parent);

}  // namespace ddpsim::validate
