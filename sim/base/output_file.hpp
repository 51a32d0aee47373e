#pragma once
// Outputs that are whole or absent: written to a temporary file beside the target, then renamed over it.
#include <string>
#include <string_view>

namespace ddpsim {

// Throws InputError when `path` cannot become a file: its folder is missing or not writable, or it is a
// directory. Call it for every output before work starts.
void check_writable(const std::string& path, std::string_view option);

// Writes `contents` to `path` at once. Throws InputError when the disk refuses; `path` then is as it was.
void write_whole_file(const std::string& path, std::string_view contents);

}  // namespace ddpsim
