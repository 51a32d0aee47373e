#pragma once
#include <chrono>
#include <string>
#include <string_view>

#include "sim/base/descriptor.hpp"

namespace ddpsim {

// Opens a file, a pipe or a device to read. A named pipe may take `patience` to get its first writer. Throws
// InputError for the file when it is missing, a directory, unreadable or a pipe that nobody writes to; `what`
// names the expected content, e.g. "a scenario".
Descriptor open_input(const std::string& path, std::string_view what,
                      std::chrono::milliseconds patience = std::chrono::seconds(3));

}  // namespace ddpsim
