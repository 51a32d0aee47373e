#include "sim/command_line/command_line.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/source.hpp"
#include "sim/base/suggest.hpp"

namespace ddpsim {
namespace {

using Callback = std::function<void(std::int64_t)>;

template <class T>
struct Inner {
  using type = T;
};
template <class T>
struct Inner<std::optional<T>> {
  using type = T;
};

// The number's own type, so that the help names it and 2^53 + 1 stays itself.
template <class Number>
CLI::Validator range_check(std::pair<double, double> range) {
  if constexpr (std::is_floating_point_v<Number>) {
    // Too small and too large it is neither.
    auto is_number = [](const std::string& text) {
      double number = 0;
      bool not_a_number = CLI::detail::lexical_cast(text, number) && std::isnan(number);
      return not_a_number ? fmt::format("{} is not a number", text) : std::string();
    };
    CLI::Range bounds(range.first, range.second);
    auto description = bounds.get_description();
    auto both = bounds & CLI::Validator(is_number, "");
    return both.description(description);
  } else {
    return CLI::Range(static_cast<Number>(range.first), static_cast<Number>(range.second));
  }
}

CLI::Validator word_check(const std::vector<std::string>& words) {
  auto all = fmt::format("{{{}}}", fmt::join(words, ","));
  return {[words, all](const std::string& given) {
            bool is_known = std::find(words.begin(), words.end(), given) != words.end();
            return is_known ? std::string()
                            : fmt::format("{} not in {}{}", given, all, did_you_mean(given, words));
          },
          all};
}

std::string spelled(const Option& option) {
  return fmt::format("{}", fmt::join(option.spellings(), ","));
}

template <class Value>
CLI::Option* add(CLI::App& app, const Option& option, Value* value) {
  using Type = typename Inner<Value>::type;
  if constexpr (std::is_same_v<Type, bool>) {
    return app.add_flag(spelled(option), *value, option.description);
  } else {
    auto* added = app.add_option(spelled(option), *value, option.description);
    if constexpr (std::is_arithmetic_v<Type>)
      if (option.range) added->check(range_check<Type>(*option.range));
    if constexpr (std::is_same_v<Type, std::vector<std::string>>)
      if (option.name.starts_with("-")) added->allow_extra_args(false);
    return added;
  }
}

CLI::Option* add(CLI::App& app, const Option& option, const Callback& callback) {
  return app.add_option_function<std::int64_t>(spelled(option), callback, option.description);
}

CLI::Option* add(CLI::App& app, const Option& option) {
  auto* added = std::visit([&](const auto& value) { return add(app, option, value); }, option.value);
  added->required(option.is_required);
  if (option.refuses_empty)
    added->check(
        [](const std::string& given) { return std::string(given.empty() ? "needs a file name" : ""); });
  if (!option.words.empty()) {
    auto words = word_check(option.words);
    if (!option.type.empty()) words.description("");
    added->check(words);
  }
  if (!option.type.empty()) added->type_name(option.type);
  if (option.shows_default) added->capture_default_str();
  return added;
}

using Runs = std::map<const CLI::App*, const std::function<void()>*>;

void add(CLI::App& app, const Command& command, Runs& runs) {
  for (const auto& option : command.options) add(app, option);
  for (const auto& option : command.options) {
    for (const auto& other : option.needs) app.get_option(option.name)->needs(app.get_option(other));
    for (const auto& other : option.excludes) app.get_option(option.name)->excludes(app.get_option(other));
  }
  // A command takes over its parent's.
  app.footer(command.example.empty() ? std::string() : "Example:\n" + command.example);
  for (const auto& below : command.commands)
    add(*app.add_subcommand(below.name, below.description), below, runs);
  if (!command.commands.empty()) app.require_subcommand(1);
  runs[&app] = &command.run;
}

const CLI::App& chosen_command(const CLI::App& app) {
  const auto* command = &app;
  for (auto chosen = command->get_subcommands(); !chosen.empty(); chosen = command->get_subcommands())
    command = chosen.front();
  return *command;
}

// The first argument that `command` could not place, with what may have been meant; empty when it placed all.
std::string unexpected_argument(const CLI::App& command) {
  auto extras = command.remaining();
  if (extras.empty()) return {};
  std::vector<std::string> known;
  for (const auto* option : command.get_options()) known.push_back(option->get_name());
  for (const auto* subcommand : command.get_subcommands({})) known.push_back(subcommand->get_name());
  return fmt::format("unexpected argument '{}'{}", extras.front(), did_you_mean(extras.front(), known));
}

[[noreturn]] void throw_usage_error(const CLI::App& app, const CLI::ParseError& error) {
  const auto& command = chosen_command(app);
  std::string path = command.get_name();
  for (const CLI::App* parent = command.get_parent(); parent; parent = parent->get_parent())
    path = parent->get_name() + " " + path;
  std::string message = unexpected_argument(command);
  if (message.empty()) message = error.what();
  throw InputError(message, fmt::format("see '{} --help'", path));
}

// "help COMMAND" is "COMMAND --help".
std::vector<std::string> arguments_of(const Command& program, int argc, const char* const* argv) {
  std::vector<std::string> arguments(argv + std::min(argc, 1), argv + argc);
  if (arguments.empty() || arguments.front() != "help" || program.commands.empty()) return arguments;
  arguments.erase(arguments.begin());
  const auto* command = &program;
  for (const auto& word : arguments) {
    if (word == "--help" || word == "-h") return arguments;
    std::vector<std::string> known;
    const Command* found = nullptr;
    for (const auto& below : command->commands) {
      known.push_back(below.name);
      if (below.name == word) found = &below;
    }
    if (found == nullptr)
      throw InputError(
          fmt::format("{} has no command '{}'{}", command->name, word, did_you_mean(word, known)),
          fmt::format("see '{} --help'", program.name));
    command = found;
  }
  arguments.emplace_back("--help");
  return arguments;
}

}  // namespace

std::function<void()> parse_command_line(const Command& program, const std::string& version, int argc,
                                         const char* const* argv) {
  CLI::App app(program.description, program.name);
  if (!version.empty()) app.set_version_flag("--version", version);
  app.get_formatter()->column_width(34);
  Runs runs;
  add(app, program, runs);
  auto arguments = arguments_of(program, argc, argv);
  std::reverse(arguments.begin(), arguments.end());  // as the library takes them
  try {
    app.parse(std::move(arguments));
  } catch (const CLI::Success& help) {
    app.exit(help);
    return [] {};
  } catch (const CLI::ParseError& error) {
    throw_usage_error(app, error);
  }
  return *runs.at(&chosen_command(app));
}

}  // namespace ddpsim
