#pragma once
// No output over an input: nothing would be left to read again. One list a process, as files belong to all of
// it.
#include <string>
#include <string_view>

namespace ddpsim {

// Told of each file that is opened to be read. Throws InputError for one that is announced as an output.
void add_read_file(const std::string& path);

// Throws InputError where `path` is a file that was read, by this name, another one or a link; `output` names
// it in the message: "--json a.json". A pipe or device may be both.
void check_was_not_read(const std::string& path, std::string_view output);

// From now on, and until the process ends, reading that file is an error: so a command learns it before
// work starts, whatever names its inputs.
void announce_output(const std::string& path, std::string output);

}  // namespace ddpsim
