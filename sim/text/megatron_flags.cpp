#include "sim/text/megatron_flags.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/limits.hpp"
#include "sim/base/quantity.hpp"
#include "sim/base/suggest.hpp"
#include "sim/text/megatron_flag_names.hpp"
#include "sim/text/shell_text.hpp"

namespace ddpsim {
namespace {

bool is_flag(const ShellWord& word) {
  return word.text.starts_with("--") && word.text.size() > 2;
}

// "-N4" and "-n$TASKS".
bool is_short_with_value(const ShellWord& word) {
  if (!word.text.starts_with("-N") && !word.text.starts_with("-n")) return false;
  return word.text.size() == 2 ? !word.unknown.empty() : word.text[2] >= '0' && word.text[2] <= '9';
}

// "--name=value" is two words.
ShellCommand separated(const ShellCommand& words) {
  ShellCommand all;
  for (const auto& word : words) {
    if (is_short_with_value(word)) {
      all.push_back({word.text.substr(0, 2), word.span.part(0, 2), {}});
      all.push_back(
          {word.text.substr(2), word.span.part(2, std::max(1, word.span.length - 2)), word.unknown});
      continue;
    }
    auto equals = word.text.find('=');
    if (!is_flag(word) || equals == std::string::npos) {
      all.push_back(word);
      continue;
    }
    auto length = static_cast<int>(equals);
    all.push_back({word.text.substr(0, equals), word.span.part(0, length), {}});
    all.push_back({word.text.substr(equals + 1),
                   word.span.part(length + 1, std::max(1, word.span.length - length - 1)), word.unknown});
  }
  return all;
}

const MegatronFlag* known_flag(std::string_view name) {
  auto found = std::ranges::find(kMegatronFlags, name, &MegatronFlag::name);
  return found == kMegatronFlags.end() ? nullptr : &*found;
}
bool is_left_out(std::string_view name) {
  return std::ranges::find(kMegatronFlagsLeftOut, name) != kMegatronFlagsLeftOut.end();
}
bool is_ignored(std::string_view name) {
  return std::ranges::any_of(kMegatronFlagsIgnored,
                             [&](std::string_view begin) { return name.starts_with(begin); });
}

InputError unknown_flag(const ShellWord& word) {
  std::vector<std::string> names;
  for (const auto& flag : kMegatronFlags)  // a part of a longer name is another flag
    if (std::abs(std::ssize(flag.name) - std::ssize(word.text)) <= 2) names.emplace_back(flag.name);
  return {word.span, fmt::format("{} is not simulated{}", word.text, did_you_mean(word.text, names)),
          "remove it to simulate a step without it"};
}

// "8", or "gpu:8" and "gpu:h100:8" of Slurm's.
std::optional<std::int64_t> count_of(const ShellWord* word) {
  if (!word || !word->unknown.empty()) return std::nullopt;
  auto colon = word->text.rfind(':');
  auto digits = colon == std::string::npos ? word->text : word->text.substr(colon + 1);
  if (digits.empty() || digits.size() > 7 || digits.find_first_not_of("0123456789") != std::string::npos)
    return std::nullopt;
  auto count = std::stoll(digits);
  return count > 0 ? std::optional<std::int64_t>(count) : std::nullopt;
}

// Options of a launcher, or of a part of it.
using OptionNames = std::initializer_list<std::string_view>;
struct Options {
  const ShellCommand& words;
  std::size_t first = 0;
};

// What a launcher's option says: nothing, a number, or something that only a running shell knows.
struct Said {
  const ShellWord* word = nullptr;
  std::optional<std::int64_t> count;
};

// The first of these options that says a number.
Said said_by(std::initializer_list<Options> places, OptionNames names) {
  Said found;
  for (const auto& [words, first] : places)
    for (auto i = first; i + 1 < words.size(); ++i) {
      if (std::ranges::find(names, words[i].text) == names.end()) continue;
      if (auto count = count_of(&words[i + 1])) return {&words[i + 1], count};
      if (!found.word) found.word = &words[i + 1];
    }
  return found;
}

// What stands behind one of these programs.
Options behind(const ShellCommand& words, OptionNames programs) {
  auto found = std::ranges::find_if(words, [&](const ShellWord& word) {
    auto slash = word.text.rfind('/');
    auto name = std::string_view(word.text).substr(slash == std::string::npos ? 0 : slash + 1);
    return std::ranges::find(programs, name) != programs.end();
  });
  return {words, static_cast<std::size_t>(found - words.begin())};
}

bool is_of_torchrun(const ShellWord& word) {
  return word.text.ends_with("torchrun") || word.text.starts_with("torch.distributed.") ||
         word.text.starts_with("--nproc_per_node") || word.text.starts_with("--nproc-per-node");
}

}  // namespace

std::vector<MegatronFlags::Command> MegatronFlags::commands_of(const ShellScript& script) {
  std::vector<Command> found;
  Command bare;  // lines of flags
  constexpr std::array<std::string_view, 3> kPrints{"echo", "printf", "cat"};
  for (const auto& command : script.commands) {
    if (is_in(kPrints, command.front().text)) continue;
    auto words = separated(command);
    auto program =
        std::ranges::find_if(words, [](const ShellWord& word) { return word.text.ends_with(".py"); });
    if (program == words.end() && is_flag(words.front())) {
      bare.flags.insert(bare.flags.end(), words.begin(), words.end());
      continue;
    }
    if (program == words.end()) continue;
    // In quotes there may be more behind it.
    auto end = std::find_if(program, words.end(), [](const ShellWord& word) {
      return word.text.starts_with("2>") || word.text.find_first_of("|;>&") == 0;
    });
    Command one{{words.begin(), program + 1}, {program + 1, end}};
    bool is_training = std::ranges::any_of(one.flags, [](const ShellWord& word) {
      return word.text == "--micro-batch-size" || word.text == "--num-layers" ||
             word.text == "--tensor-model-parallel-size";
    });
    if (is_training) found.push_back(std::move(one));
  }
  if (found.empty() && !bare.flags.empty()) found.push_back(std::move(bare));
  return found;
}

MegatronFlags::MegatronFlags(const ShellScript& script, const SourceSpan& place, LaunchSettings& launch) {
  auto commands = commands_of(script);
  if (commands.empty())
    throw InputError(
        place, "no command here has Megatron-LM's flags",
        script.not_followed.empty()
            ? "give the script with pretrain_gpt.py and --num-layers, or a file of the flags alone"
            : fmt::format("not followed: {}; write the command with its flags into a file of its own",
                          fmt::join(script.not_followed, ", ")));
  if (commands.size() > 1)
    throw InputError(commands[1].flags.front().span,
                     fmt::format("{} commands here have Megatron-LM's flags", commands.size()),
                     "keep one of them in a file of its own");
  check_program(commands.front());
  read(commands.front().flags, launch);
  read_ranks(commands.front().launcher, script);
}

// Other models have scripts of their own.
void MegatronFlags::check_program(const Command& command) {
  if (command.launcher.empty()) return;
  const auto& program = command.launcher.back();
  for (const char* other : {"bert", "t5", "vlm", "vision", "mamba", "hybrid", "ict", "mimo", "retro"})
    if (program.text.find(std::string("pretrain_") + other) != std::string::npos)
      throw InputError(program.span, fmt::format("{} trains another model than a GPT", program.text),
                       "only decoder-only transformers are simulated: pretrain_gpt.py");
}

void MegatronFlags::read(const ShellCommand& words, LaunchSettings& launch) {
  Use nothing;
  Use* use = &nothing;
  std::vector<std::string> unset;
  const MegatronFlag* flag = nullptr;
  for (const auto& word : words) {
    if (!is_flag(word)) {
      bool takes_more = flag == nullptr || flag->values < 0 || std::ssize(use->values) < flag->values;
      if (takes_more && use != &nothing)
        use->values.push_back(word);
      else if (!word.unknown.empty())
        launch.note("launch-unset",
                    fmt::format("{}: {} is not set here, and left out", place_of(word.span), word.unknown));
      else if (!word.text.empty())
        throw InputError(
            word.span, fmt::format("'{}' belongs to no flag", word.text),
            flag ? fmt::format("{} takes {}", flag->name, flag->values == 0 ? "no value" : "one value")
                 : "flags begin with --");
      continue;
    }
    flag = known_flag(word.text);
    if (!flag && !is_left_out(word.text) && !is_ignored(word.text)) throw unknown_flag(word);
    if (!flag && is_left_out(word.text))
      launch.leave_out(word.text);
    else if (!flag)
      launch.ignore(word.text);
    use = &(uses_[word.text] = {word.span, {}});
  }
}

// Nodes and ranks of each, by torchrun or, without, by Slurm or MPI. An option that only a running shell
// knows leaves them unknown.
void MegatronFlags::read_ranks(const ShellCommand& launcher, const ShellScript& script) {
  auto batch = separated(script.batch_options);
  auto srun = behind(launcher, {"srun"}), mpi = behind(launcher, {"mpirun", "mpiexec"});
  auto nodes = said_by({{launcher}}, {"--nnodes"});
  if (!nodes.count)
    if (auto of_slurm = said_by({srun, {batch}}, {"--nodes", "-N"}); of_slurm.count || !nodes.word)
      nodes = of_slurm;
  if (!nodes.word) nodes.count = 1;
  auto gpus = said_by({srun, {batch}}, {"--gpus-per-node"});
  if (!gpus.word) gpus = said_by({srun, {batch}}, {"--gres"});
  Said each;
  if (std::ranges::any_of(launcher, is_of_torchrun)) {
    each = said_by({{launcher}}, {"--nproc_per_node", "--nproc-per-node"});
    if (!each.count) each = gpus;
  } else {
    auto all = said_by({srun, {batch}}, {"--ntasks", "-n"});
    if (auto of_mpi = said_by({mpi}, {"-n", "-np", "--np"}); of_mpi.word) all = of_mpi;
    if (all.count && *all.count <= kLargestWorldSize) ranks_ = Ranks{*all.count, all.word->span};
    if (all.count) return;
    each = said_by({srun, {batch}}, {"--ntasks-per-node"});
    if (!all.word && !each.word) each = gpus;
  }
  if (each.count && nodes.count && *each.count * *nodes.count <= kLargestWorldSize)
    ranks_ = Ranks{*each.count * *nodes.count, each.word->span};
}

const SourceSpan& MegatronFlags::span(std::string_view flag) const {
  const auto* one = value(flag);
  return one ? one->span : uses_.find(flag)->second.span;
}

const MegatronFlags::Use* MegatronFlags::use_of(std::string_view flag) const {
  auto use = uses_.find(flag);
  if (use == uses_.end()) return nullptr;
  asked_.insert(use->first);
  return &use->second;
}

std::vector<std::string> MegatronFlags::unread() const {
  std::vector<std::string> flags;
  for (const auto& [flag, use] : uses_)
    if (known_flag(flag) && !asked_.contains(flag)) flags.push_back(flag);
  return flags;
}

const ShellWord* MegatronFlags::value(std::string_view flag) const {
  const auto* use = use_of(flag);
  return !use || use->values.empty() ? nullptr : &use->values.front();
}

std::optional<std::string> MegatronFlags::word(std::string_view flag) const {
  const auto* use = use_of(flag);
  if (!use) return std::nullopt;
  const auto* one = value(flag);
  if (!one) throw InputError(use->span, fmt::format("{} lacks its value", flag), "write it behind the flag");
  if (!one->unknown.empty()) {
    auto name = one->unknown.substr(1);
    bool is_name =
        !name.empty() && shell::starts_name(name.front()) && std::ranges::all_of(name, shell::is_of_name);
    throw InputError(one->span.line > 0 ? one->span : use->span,
                     fmt::format("{} is {}, which the script does not set", flag, one->unknown),
                     is_name ? fmt::format("set it at the top: {}=...", name) : "write its value there");
  }
  return one->text;
}

std::optional<std::int64_t> MegatronFlags::number(std::string_view flag, std::int64_t least,
                                                  std::int64_t most) const {
  auto text = word(flag);
  return text ? std::optional(parse_integer({*text, span(flag)}, least, most)) : std::nullopt;
}

std::optional<double> MegatronFlags::real(std::string_view flag) const {
  auto text = word(flag);
  return text ? std::optional(parse_number({*text, span(flag)}, 0, 1e9)) : std::nullopt;
}

std::vector<std::string> MegatronFlags::words(std::string_view flag) const {
  std::vector<std::string> all;
  if (!word(flag)) return all;
  for (const auto& one : uses_.find(flag)->second.values) all.push_back(one.text);
  return all;
}

}  // namespace ddpsim
