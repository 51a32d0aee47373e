#pragma once
// What the command line of a program offers, as data. command_line.cpp alone knows the library that parses
// it, which takes seconds to compile.
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace ddpsim {

// Where the text after an option goes; the type says which text is valid, what it holds before is the
// default. bool: a flag. A vector: the option may be repeated; without a name, as many arguments as there
// are.
using OptionValue =
    std::variant<bool*, int*, unsigned*, std::int64_t*, std::uint64_t*, double*, std::string*,
                 std::vector<std::string>*, std::optional<int>*, std::optional<std::int64_t>*,
                 std::optional<double>*, std::optional<std::string>*, std::function<void(std::int64_t)>>;

struct Option {
  std::string name{};               // "--json"; of an argument by its place: "FILE"
  std::vector<std::string> also{};  // as it may be spelled besides
  OptionValue value{};
  std::string description{};
  std::string type{};  // in the help, instead of TEXT, INT, the words, ...
  bool is_required = false;
  bool shows_default = false;
  bool refuses_empty = false;  // for a name of a file, which is empty if it came from an unset shell variable
  std::optional<std::pair<double, double>> range{};  // of a number, ends included
  std::vector<std::string> words{};                  // the only ones that are taken
  // What completion offers beside files. Text goes on after "name=".
  std::function<std::vector<std::string>()> names{};
  std::vector<std::string> needs{}, excludes{};  // other options of the command

  [[nodiscard]] std::vector<std::string> spellings() const {
    auto all = also;
    all.insert(all.begin(), name);
    return all;
  }
};

struct Command {
  std::string name{}, description{};
  std::string example{};  // closes the help
  std::vector<Option> options{};
  std::vector<Command> commands{};  // exactly one of them is to be given
  std::function<void()> run{};
};

// What a program's command of this name takes is never read: "help COMMAND ..." is "COMMAND ... --help".
inline constexpr std::string_view kHelpCommand = "help";

//
// Puts the arguments where the options of the commands they name want them. Returns what the last of these
// runs, which is nothing after --help or --version: that has been printed. `version` may be empty: no such
// option. Throws InputError for what the command line does not take.
std::function<void()> parse_command_line(const Command& program, const std::string& version, int argc,
                                         const char* const* argv);

}  // namespace ddpsim
