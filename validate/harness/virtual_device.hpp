#pragma once
#include <string_view>

namespace ddpsim::validate {

// What the tests' imitation of a GPU calls itself. Its times follow a virtual clock: results that name it are
// refused as measurements.
inline constexpr std::string_view kVirtualDevice = "ddpsim virtual GPU";

}  // namespace ddpsim::validate
