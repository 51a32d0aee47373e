#pragma once
// Flags of Megatron-LM's pretraining scripts as a command has them.
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "sim/text/launch_settings.hpp"
#include "sim/text/shell_script.hpp"

namespace ddpsim {

// Each flag once, the last one, as argparse takes them.
class MegatronFlags {
 public:
  struct Use {
    SourceSpan span;
    std::vector<ShellWord> values;
  };

  // Those of the one command of the script that has them, or of a file of nothing else. Throws InputError for
  // a flag that would change the answer and is not known, and where there is no such command, or several.
  MegatronFlags(const ShellScript& script, const SourceSpan& place, LaunchSettings& launch);
  // Of flags that are known.
  explicit MegatronFlags(std::map<std::string, Use, std::less<>> uses) : uses_(std::move(uses)) {}

  [[nodiscard]] bool has(std::string_view flag) const { return use_of(flag) != nullptr; }
  // Of a flag that is given.
  [[nodiscard]] const SourceSpan& span(std::string_view flag) const;
  [[nodiscard]] std::optional<std::string> word(std::string_view flag) const;
  [[nodiscard]] std::optional<std::int64_t> number(std::string_view flag, std::int64_t least,
                                                   std::int64_t most) const;
  [[nodiscard]] std::optional<double> real(std::string_view flag) const;
  [[nodiscard]] std::vector<std::string> words(std::string_view flag) const;
  // GPUs by what torchrun or Slurm is told; none: nothing says it.
  struct Ranks {
    std::int64_t count;
    SourceSpan span;
  };
  [[nodiscard]] const std::optional<Ranks>& ranks() const { return ranks_; }
  // Flags that are known, and that nothing was asked of.
  [[nodiscard]] std::vector<std::string> unread() const;

 private:
  struct Command {
    ShellCommand launcher, flags;
  };
  static void check_program(const Command& command);
  static std::vector<Command> commands_of(const ShellScript& script);
  void read(const ShellCommand& words, LaunchSettings& launch);
  void read_ranks(const ShellCommand& launcher, const ShellScript& script);
  // Null: the flag is not given.
  [[nodiscard]] const Use* use_of(std::string_view flag) const;
  [[nodiscard]] const ShellWord* value(std::string_view flag) const;

  std::map<std::string, Use, std::less<>> uses_;
  mutable std::set<std::string, std::less<>> asked_;
  std::optional<Ranks> ranks_;
};

}  // namespace ddpsim
