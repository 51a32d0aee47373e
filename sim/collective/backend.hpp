#pragma once
#include "sim/base/names.hpp"

namespace ddpsim {

// Who carries collectives out.
enum class Backend { nccl, gloo };
inline constexpr Names<Backend, 2> kBackendNames{{{"nccl", Backend::nccl}, {"gloo", Backend::gloo}}};

inline std::string_view backend_name(Backend backend) {
  return name_in(kBackendNames, backend);
}

}  // namespace ddpsim
