#include "sim/command_line/command_texts.hpp"

#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/letter_case.hpp"

namespace ddpsim {
namespace {

// Each command that runs something or holds others, with its whole name: "ddpsim topology show".
template <class Visit>
void for_each(const Command& command, const std::string& path, const Visit& visit) {
  visit(command, path);
  for (const auto& below : command.commands) for_each(below, path + " " + below.name, visit);
}

bool is_flag(const Option& option) {
  return std::holds_alternative<bool*>(option.value);
}

bool has_name(const Option& option) {
  return option.name.starts_with("-");
}

bool takes_file(const Option& option) {
  return has_name(option) && !is_flag(option) && option.words.empty();
}

std::string quoted_paths(const std::vector<std::string>& paths) {
  return fmt::format("'{}'", fmt::join(paths, "'|'"));
}

// The commands alone.
Command names_of(const Command& command) {
  Command names{.name = command.name};
  for (const auto& below : command.commands) names.commands.push_back(names_of(below));
  return names;
}

// "help" is followed by commands, each as it is without it.
Command with_commands_of_help(Command program) {
  auto names = names_of(program);
  for (auto& command : program.commands)
    if (command.name == kHelpCommand) command = {.name = command.name, .commands = names.commands};
  return program;
}

std::string bash_function(const Command& program) {
  std::vector<std::string> commands, of_files;
  std::string offered;
  std::map<std::string, std::vector<std::string>> of_words;  // what is offered, and after which options
  auto joined = [](const std::vector<std::string>& words) {
    return fmt::format("{}", fmt::join(words, " "));
  };
  for_each(
      with_commands_of_help(program), program.name, [&](const Command& command, const std::string& path) {
        if (path != program.name) commands.push_back(path);
        std::vector<std::string> words, names;
        for (const auto& below : command.commands) words.push_back(below.name);
        for (const auto& option : command.options) {
          auto presets = option.names ? option.names() : std::vector<std::string>();
          if (!has_name(option)) {
            words.insert(words.end(), option.words.begin(), option.words.end());
            names.insert(names.end(), presets.begin(), presets.end());
            continue;
          }
          words.push_back(option.name);
          for (const auto& spelling : option.spellings()) {
            auto typed = path + " " + spelling;
            if (option.names)
              of_words[fmt::format("names='{}'", joined(presets))].push_back(typed);
            else if (takes_file(option))
              of_files.push_back(typed);
            if (!option.words.empty())
              of_words[fmt::format("words='{}'", joined(option.words))].push_back(typed);
          }
        }
        words.emplace_back("--help");
        offered += fmt::format("      '{}') words='{}' names='{}' ;;\n", path, joined(words), joined(names));
      });
  std::string after_options;
  for (const auto& [offer, options] : of_words)
    after_options += fmt::format("    {}) {} ;;\n", quoted_paths(options), offer);
  return fmt::format(R"(_{0}() {{
  local cur=${{COMP_WORDS[COMP_CWORD]}} prev=${{COMP_WORDS[COMP_CWORD-1]}} at={0} words= names= word
  for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
    case "$at $word" in
      {1}) at="$at $word" ;;
    esac
  done
  COMPREPLY=()
  case "$at $prev" in
    {2}) ;;
{3}    *) case "$at" in
{4}    esac ;;
  esac
  COMPREPLY=($(compgen -W "$words $names" -- "$cur"))
  case "$COMPREPLY" in *=) compopt -o nospace 2>/dev/null ;; esac
  if [ -n "$names" ]; then
    COMPREPLY+=($(compgen -f -- "$cur"))
  elif [ ${{#COMPREPLY[@]}} -eq 0 ]; then
    compopt -o filenames 2>/dev/null
    COMPREPLY=($(compgen -f -- "$cur"))
  fi
}}
complete -F _{0} {0}
)",
                     program.name, quoted_paths(commands), quoted_paths(of_files), after_options, offered);
}

// As text of a line: groff takes a backslash, and a dot or quote at its start, for its own.
std::string roff(const std::string& text) {
  std::string escaped;
  for (char c : text) {
    if (c == '\\')
      escaped += "\\e";
    else if (c == '-')
      escaped += "\\-";
    else
      escaped += c;
  }
  return escaped.starts_with('.') || escaped.starts_with('\'') ? "\\&" + escaped : escaped;
}

std::string roff_option(const Option& option) {
  std::string name = fmt::format("\\fB{}\\fR", roff(fmt::format("{}", fmt::join(option.spellings(), ", "))));
  if (is_flag(option)) return name;
  std::string value = !option.type.empty()    ? option.type
                      : !option.words.empty() ? fmt::format("{}", fmt::join(option.words, "|"))
                                              : "VALUE";
  return has_name(option) ? fmt::format("{} \\fI{}\\fR", name, roff(value)) : name;
}

std::string roff_command(const Command& command, const std::string& path) {
  std::string text = fmt::format(".SS {}\n{}.\n", roff(path), roff(command.description));
  for (const auto& option : command.options)
    text += fmt::format(".TP\n{}\n{}{}.\n", roff_option(option), roff(option.description),
                        option.is_required ? " (required)" : "");
  if (!command.example.empty())
    text += fmt::format(".PP\nExample:\n.PP\n.nf\n{}\n.fi\n", roff(command.example));
  return text;
}

}  // namespace

std::string bash_completion(const Command& program) {
  return fmt::format("# Completion of {0} for bash; made by '{0} completion bash'.\n{1}", program.name,
                     bash_function(program));
}

std::string zsh_completion(const Command& program) {
  return fmt::format(
      "#compdef {0}\n# Made by '{0} completion zsh'.\nautoload -U +X bashcompinit && bashcompinit\n{1}",
      program.name, bash_function(program));
}

std::string man_page(const Command& program, const std::string& version) {
  auto text = fmt::format(
      ".TH {} 1 \"\" \"{}\" \"User Commands\"\n.SH NAME\n{} \\- {}\n.SH SYNOPSIS\n\\fB{}\\fR \\fICOMMAND\\fR "
      "[\\fIOPTIONS\\fR]\n.SH COMMANDS\n",
      upper_case(program.name), roff(version), program.name, roff(program.description), program.name);
  for_each(program, program.name, [&](const Command& command, const std::string& path) {
    if (command.commands.empty()) text += roff_command(command, path);
  });
  return text;
}

}  // namespace ddpsim
