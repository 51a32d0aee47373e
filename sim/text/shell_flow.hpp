#pragma once
// Which commands of a script run: && and ||, `if`, `case`, loops and groups. What is not known is false.
#include <optional>
#include <string_view>
#include <vector>

#include "sim/text/shell_text.hpp"

namespace ddpsim::shell {

class Flow {
 public:
  // Whether a command that stands here runs.
  [[nodiscard]] bool runs() const { return is_followed() && !condition_ && chain_.runs_next(); }
  // Whether words that stand here are expanded: those of commands that run, and of conditions.
  [[nodiscard]] bool expands() const { return condition_ ? frames_.back().may_enter : runs(); }
  [[nodiscard]] bool is_condition() const { return condition_.has_value(); }

  // Of a command that ends before `connector`: '&' for &&, '|' for ||, 'p' for a pipe, ' ' for the rest.
  // None: not known. Returns whether that was taken as false.
  bool add(std::optional<bool> status, char connector);

  // A compound command as far as the word `ends`, of which commands run unless `enters` is false.
  void begin(std::string_view ends, bool enters = true);
  void begin_if();
  void begin_while(bool is_until);
  void begin_case(Text subject);

  // Whether `then` takes a condition that is not known as false.
  bool take_then();
  void take_else(bool has_condition);
  // The word of a `while` or `until` whose body `do` enters; empty: it is entered by none.
  std::string_view take_do();

  // The subject of a `case` of which a pattern stands here; null: none does.
  [[nodiscard]] const Text* wants_pattern() const;
  void skip_pattern() { frames_.back().wants_pattern = false; }
  void take_pattern(bool matches);
  void end_branch();  // ;;

  // The status of the compound command that this word ends; none: it ends none.
  std::optional<bool> end(std::string_view word);
  // The status of the last command.
  [[nodiscard]] bool status() const { return status_; }

 private:
  // Of commands joined by && and ||, so far.
  struct Chain {
    char connector = ' ';
    bool value = true;
    [[nodiscard]] bool runs_next() const { return connector == ' ' || value == (connector == '&'); }
  };
  // Of an `if` or a `while`, so far.
  struct Condition {
    std::optional<bool> value;
    char connector = ' ';
    void add(std::optional<bool> next, char before_next);
  };
  struct Frame {
    std::string_view ends;
    bool may_enter;  // no branch ran so far
    bool is_followed;
    Chain chain;  // what it stands in
    std::optional<Condition> condition;
    bool is_while = false, is_until = false;
    std::optional<Text> subject = {};  // of a `case`
    bool wants_pattern = false;
  };

  [[nodiscard]] bool is_followed() const { return frames_.empty() || frames_.back().is_followed; }
  void enter(bool is_followed);

  std::vector<Frame> frames_;
  std::optional<Condition> condition_;
  Chain chain_;
  bool status_ = true;
};

}  // namespace ddpsim::shell
