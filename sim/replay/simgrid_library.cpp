#include <dlfcn.h>
#include <fmt/core.h>

#include "sim/base/check.hpp"
#include "sim/base/environment_error.hpp"
#include "sim/replay/network.hpp"

namespace ddpsim {
namespace {

constexpr const char* kLibrary = "libddpsim-simgrid.so";  // beside ddpsim
using Make = Network* (*)(double largest);

// sim/replay/simgrid has it.
Make entry() {
  static const auto make = [] {
    void* library = dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
    if (!library)
      throw EnvironmentError(
          fmt::format("SimGrid cannot be loaded: {}", dlerror()),
          "without it the builtin network shares links out (engine.network: builtin, the default)");
    auto* found = reinterpret_cast<Make>(dlsym(library, "ddpsim_simgrid_network"));
    DDPSIM_CHECK(found, "the library makes networks");
    return found;
  }();
  return make;
}

}  // namespace

void load_simgrid() {
  entry();
}

std::unique_ptr<Network> make_simgrid_network(Bytes largest) {
  return std::unique_ptr<Network>(entry()(largest.value()));
}

}  // namespace ddpsim
