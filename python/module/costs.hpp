#pragma once
#include <nanobind/nanobind.h>

namespace ddpsim::python {

// Adds collective_time, which keeps what it finds out for as long as the module lives.
void add_costs(nanobind::module_& m);

}  // namespace ddpsim::python
