#pragma once
// What shells and man know of a program, made of what its command line offers.
#include <string>

#include "sim/command_line/command_line.hpp"

namespace ddpsim {

// To be sourced by bash. Commands, options, their words and names; files elsewhere.
std::string bash_completion(const Command& program);
// The same as a file of zsh's fpath, through zsh's bashcompinit.
std::string zsh_completion(const Command& program);

// A page of section 1 for man (groff_man(7)), a section for each command.
std::string man_page(const Command& program, const std::string& version);

}  // namespace ddpsim
