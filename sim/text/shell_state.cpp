#include "sim/text/shell_state.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "sim/text/shell_arithmetic.hpp"

namespace ddpsim::shell {
namespace {

constexpr int kDeepestCalls = 16;
constexpr std::size_t kUsualParameters = 9;

}  // namespace

void State::grow(std::size_t by, At at) {
  grown_ += by;
  if (grown_ > kMostShellText)
    throw InputError({source_, at.line, at.column, 1},
                     fmt::format("the script's variables say more than {} MiB", kMostShellText >> 20),
                     "write the command's flags into a file of their own");
}

void State::assign(Assignment assignment, At at) {
  auto& [name, value, appends] = assignment;
  auto& variable = variables_[name];
  auto by = value.values.size();
  if (!appends) {
    variable = std::move(value);
  } else if (value.is_array) {
    variable.is_array = true;
    variable.values.insert(variable.values.end(), value.values.begin(), value.values.end());
  } else if (variable.values.empty()) {
    variable.values = std::move(value.values);
  } else {
    variable.values.front().add(value.values.front());
  }
  for (const auto& one : variable.values) by += one.chars.size();
  grow(by, at);
}

void State::forget(const std::string& name, At at) {
  Text value;
  value.add_unknown("$" + name, at);
  variables_[name] = {{std::move(value)}, false};
}

void State::keep(const std::string& name, Kept& kept) const {
  auto known = variables_.find(name);
  kept.emplace_back(name, known == variables_.end() ? std::nullopt : std::optional(known->second));
}

void State::restore(Kept kept) {
  for (auto one = kept.rbegin(); one != kept.rend(); ++one) {
    variables_.erase(one->first);
    if (one->second) variables_[one->first] = *std::move(one->second);
  }
}

Variables State::copied(At at) {
  std::size_t size = 0;
  for (const auto& [name, variable] : variables_)
    for (const auto& value : variable.values) size += value.chars.size() + 1;
  grow(size, at);
  return variables_;
}

const Text* State::function(const Text& name) const {
  auto found = name.is_known() ? functions_.find(name.chars) : functions_.end();
  return found == functions_.end() ? nullptr : &found->second;
}

void State::set_parameters(std::vector<Text> values, std::size_t most) {
  for (std::size_t i = 0; i < most; ++i)
    variables_[std::to_string(i + 1)] = i < values.size() ? Variable{{values[i]}, false} : Variable{};
  variables_["@"] = {std::move(values), true};
}

bool State::begin_call(const std::vector<Text>& words, At at, Kept& kept) {
  if (calls_ == kDeepestCalls) {
    note(at, fmt::format("{}, called too deeply", words.front().chars));
    return false;
  }
  ++calls_;
  auto size = functions_.find(words.front().chars)->second.chars.size();
  for (const auto& word : words) size += word.chars.size() + 1;
  grow(size, at);
  for (const auto& word : words)  // "$@" of a caller that knows none
    if (!word.is_known() && (word.unknowns.front() == "$@" || word.unknowns.front() == "$*")) return true;
  std::vector<Text> values(words.begin() + 1, words.end());
  auto most = std::max(values.size(), kUsualParameters);
  keep("@", kept);
  for (std::size_t i = 1; i <= most; ++i) keep(std::to_string(i), kept);
  set_parameters(std::move(values), most);
  return true;
}

void State::end_call(Kept kept, std::size_t written, At at) {
  --calls_;
  grow(written, at);
  restore(std::move(kept));
}

ShellWord State::word_of(const Text& text, At otherwise) const {
  auto at = text.at.empty() ? otherwise : text.at.front();
  return {text.known(),
          {source_, at.line, at.column, std::max(1, static_cast<int>(text.chars.size()))},
          text.is_known() ? "" : text.unknowns.front()};
}

void State::run(const std::vector<Text>& words, const std::vector<At>& places) {
  const auto& first = words.front().chars;
  auto at = places.front();
  if (first == "let" && words.size() > 1) {
    note(at, "let " + words[1].known());
    for (std::size_t i = 1; i < words.size(); ++i)
      if (auto name = set_by(words[i].known()); !name.empty()) forget(name, at);
  }
  if ((first == "source" || first == ".") && words.size() > 1) note(at, first + " " + words[1].chars);
  if (auto all = variables_.find("@"); first == "shift" && all != variables_.end()) {
    auto values = all->second.values;
    std::string unknown;
    auto count = words.size() > 1 ? evaluate(words[1].known(), variables_, unknown).value_or(1) : 1;
    auto most = std::max(values.size(), kUsualParameters);
    values.erase(values.begin(), values.begin() + std::clamp<std::int64_t>(count, 0, std::ssize(values)));
    set_parameters(std::move(values), most);
  }
  ShellCommand command;
  for (std::size_t i = 0; i < words.size(); ++i) {
    // A command in quotes, as for `bash -c`: its words.
    bool is_command =
        words[i].chars.find(".py") != std::string::npos && words[i].chars.find(" --") != std::string::npos;
    if (!is_command)
      command.push_back(word_of(words[i], places[i]));
    else
      for (const auto& word : split(words[i])) command.push_back(word_of(word));
  }
  script_.commands.push_back(std::move(command));
}

void State::add_batch_options(std::string_view line, At at) {
  if (calls_ > 0) return;
  Text text;
  for (auto i = line.find_first_of(" \t"); i < line.size() && line[i] != '#'; ++i)
    text.add(line[i], {at.line, at.column + static_cast<int>(i)});
  for (const auto& word : split(text)) script_.batch_options.push_back(word_of(word));
}

void State::note(At at, std::string_view what) {
  auto text = fmt::format("{}:{}: {}", source_->name, at.line, what);
  auto& notes = script_.not_followed;
  if (std::ranges::find(notes, text) == notes.end()) notes.push_back(std::move(text));
}

}  // namespace ddpsim::shell
