#pragma once
// Outputs that are whole or absent: written to a temporary file beside the target, then renamed over it.
#include <string>
#include <string_view>

namespace ddpsim {

// Throws InputError when `path` cannot become a file: its folder is missing or not writable, or it is a
// directory. Call it for every output before work starts.
void check_writable(const std::string& path, std::string_view option);

// Where the whole output is built before the rename; in the same folder as `path`, unique to this process.
std::string temporary_path(const std::string& path);
// Renames a finished temporary file over `path`.
void publish_file(const std::string& temporary, const std::string& path);

// Writes `contents` to `path` at once. Throws InputError when the disk refuses; `path` then is as it was.
void write_whole_file(const std::string& path, std::string_view contents);

}  // namespace ddpsim
