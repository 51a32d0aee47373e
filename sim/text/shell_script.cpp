#include "sim/text/shell_script.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/core.h>

#include "sim/text/shell_arithmetic.hpp"
#include "sim/text/shell_assignment.hpp"
#include "sim/text/shell_command.hpp"
#include "sim/text/shell_conditions.hpp"
#include "sim/text/shell_flow.hpp"
#include "sim/text/shell_words.hpp"

namespace ddpsim {
namespace {

using shell::At, shell::Command, shell::Flow, shell::is_plain, shell::kEndsWord, shell::Source, shell::State,
    shell::Text, shell::Words;

// { ...; } or ( ... ), or the body of a function.
struct Group {
  std::size_t begin = 0;
  std::string function = {};  // empty: it is none's
  bool is_negated = false;
  std::size_t locals = 0;                          // before it
  std::optional<shell::Variables> variables = {};  // what they are behind ( ... )
};

class ScriptReader {
 public:
  ScriptReader(Source text, State& state)
      : in_(std::move(text)), state_(state), words_(state.variables(), state.source()) {}

  // The status of the last command.
  bool read() {
    while (!in_.is_done()) read_token();
    end_command();
    // `return` leaves them open.
    auto open = std::ranges::find_if(groups_, [](const Group& group) { return group.variables.has_value(); });
    if (open != groups_.end()) state_.variables() = *std::move(open->variables);
    return flow_.status();
  }

 private:
  std::vector<Text> read_fields() { return words_.read(in_, flow_.expands()); }
  void note(std::string_view what) { state_.note(in_.at(), what); }
  void read_token() {
    char c = in_.peek();
    if (in_.starts_with("((") && (command_.begins() || command_.is("for"))) return read_arithmetic();
    if (flow_.wants_pattern() && read_pattern()) return;
    if (in_.starts_with(";;")) {
      end_command();
      flow_.end_branch();
    }
    if (c == ' ' || c == '\t' || c == '\r') {
      in_.skip(1);
    } else if (in_.starts_with("\\\n") || in_.starts_with("\\\r\n")) {
      in_.skip(in_.peek(1) == '\r' ? 3 : 2);
    } else if (c == '#') {
      read_comment();
    } else if (c == '<' || c == '>' || in_.starts_with("&>")) {
      read_redirection();
    } else if (in_.starts_with("&&") || in_.starts_with("||")) {
      end_command(c);
      in_.skip(2);
    } else if (c == '(') {
      read_opening();
    } else if (c == ')') {
      end_command();
      in_.skip(1);
      end_compound(")");
    } else if (kEndsWord.find(c) != std::string_view::npos) {
      end_command(c == '|' ? 'p' : ' ');
      in_.skip(1);
    } else {
      read_word();
    }
  }

  // "a | b)" of a case: whether something was read.
  bool read_pattern() {
    char c = in_.peek();
    if (in_.starts_with("esac") || c == '#' || c == '\\') {
      if (in_.starts_with("esac")) flow_.skip_pattern();
      return false;
    }
    if (c != '(' && kEndsWord.find(c) != std::string_view::npos) {
      in_.skip(1);
      return true;
    }
    bool matches = false;
    auto subject = flow_.wants_pattern()->known();
    while (!in_.is_done() && in_.peek() != ')' && in_.peek() != '\n') {
      if (std::string_view(" \t|(;&<>\r").find(in_.peek()) != std::string_view::npos) {
        in_.skip(1);
        continue;
      }
      auto pattern = words_.read_whole(in_, flow_.expands());
      matches |= shell::fits(subject, pattern).value_or(false);
    }
    if (!in_.is_done()) in_.skip(1);
    flow_.take_pattern(matches);
    return true;
  }

  // `case WORD in`: the word is not split, and what only a running shell knows is empty.
  void begin_case() {
    while (in_.peek() == ' ' || in_.peek() == '\t') in_.skip(1);
    auto subject = words_.read_whole(in_, flow_.expands());
    while (shell::is_space(in_.peek())) in_.skip(1);
    if (in_.starts_with("in")) in_.skip(2);
    if (flow_.runs() && !subject.is_known())
      note(fmt::format("case of {}, taken as empty", subject.unknowns.front()));
    flow_.begin_case(std::move(subject));
  }

  // "go()", a ( ... ), or the parentheses of something else.
  void read_opening() {
    auto begin = in_.position();
    std::size_t next = 1;
    while (in_.peek(next) == ' ' || in_.peek(next) == '\t') ++next;
    bool is_function = in_.peek(next) == ')' && (command_.words.size() == 1 || !function_.empty());
    if (is_function) {
      if (function_.empty()) function_ = command_.words.front().known();
      command_.clear_words();
      return in_.skip(next + 1);
    }
    bool is_group = command_.begins() && !command_.has_assigned;
    if (!is_group) end_command();
    in_.skip(1);
    if (is_group) begin_group(")", begin);
  }

  void begin_group(std::string_view ends, std::size_t begin) {
    Group group{begin, std::exchange(function_, ""), ends == ")" && command_.words.size() % 2 == 1,
                locals_.size()};
    command_.clear_words();
    bool is_function = !group.function.empty();
    if (ends == ")" && flow_.runs() && !is_function) group.variables = state_.copied(in_.at());
    groups_.push_back(std::move(group));
    flow_.begin(ends, !is_function);
  }

  // Whether a compound command ends with that word.
  bool end_compound(std::string_view word) {
    auto status = flow_.end(word);
    if (!status) return false;
    if (flow_.is_condition()) status = std::nullopt;
    command_.status = status;
    if (word != ")" && word != "}") return true;
    auto group = std::move(groups_.back());
    groups_.pop_back();
    if (group.is_negated && status) command_.status = !*status;
    if (group.variables) {
      state_.variables() = *std::move(group.variables);
      locals_.resize(group.locals);
    }
    if (!group.function.empty() && flow_.runs()) state_.define(group.function, in_.part(group.begin));
    return true;
  }

  // ((...)): as a condition it holds where it is not 0; a variable that it sets is known no longer.
  void read_arithmetic() {
    in_.skip(2);
    std::string expression;
    while (!in_.is_done() && !in_.starts_with("))") && in_.peek() != '\n') expression += in_.take();
    if (in_.starts_with("))")) in_.skip(2);
    auto name = shell::set_by(expression.substr(0, expression.find(';')));
    if (!name.empty() && flow_.runs()) {
      note(fmt::format("(({}))", expression));
      state_.forget(name, in_.at());
    }
    if (!command_.is("for")) command_.set_status(shell::compared(expression, state_.variables()));
  }

  void read_double_brackets() {
    auto words = words_.read_double_brackets(in_, command_.places.back(), flow_.expands());
    command_.words.pop_back();
    command_.set_status(shell::holds_double(words, state_.variables()));
  }

  void read_comment() {
    auto at = in_.at();
    auto line = in_.take_line();
    if (line.starts_with("#SBATCH")) state_.add_batch_options(line, at);
  }

  // Where output goes is nothing to us, nor is a text that another program than a shell reads.
  void read_redirection() {
    constexpr std::array<std::string_view, 4> kShells{"sbatch", "bash", "sh", "srun"};
    bool is_script =
        !command_.words.empty() && std::ranges::find(kShells, command_.words.front().chars) != kShells.end();
    words_.skip_redirection(in_, is_script, flow_.expands());
  }

  void read_word() {
    if (command_.words.empty() && read_assignment()) return;
    if (command_.words.empty() && command_.declares && in_.peek() == '-') {
      read_fields();
      return;
    }
    auto at = in_.at();
    auto begin = in_.position();
    auto fields = read_fields();
    bool is_stream = !fields.empty() && (in_.peek() == '<' || in_.peek() == '>') &&
                     fields.front().chars.find_first_not_of("0123456789") == std::string::npos;
    if (is_stream) return;  // "2>"
    for (auto& field : fields) command_.add(std::move(field), at);
    if (command_.begins_with("[[")) return read_double_brackets();
    if (!command_.words.empty() && command_.is(command_.words.front().chars) && !command_.declares)
      take_keyword(begin);
  }

  // Words that stand before a command, or make one of what follows.
  void take_keyword(std::size_t begin) {
    const std::string word = command_.words.front().chars;
    constexpr std::array<std::string_view, 5> kDeclares{"export", "local", "readonly", "declare", "typeset"};
    bool is_keyword = true;
    if (std::ranges::find(kDeclares, word) != kDeclares.end()) {
      command_.declares = true;
      command_.is_local = state_.is_in_function() && word != "export" && word != "readonly";
    } else if (word == "{") {
      begin_group("}", begin);
    } else if (word == "if") {
      flow_.begin_if();
    } else if (word == "case") {
      begin_case();
    } else if (word == "while" || word == "until") {
      flow_.begin_while(word == "until");
    } else if (word == "elif" || word == "else") {
      flow_.take_else(word == "elif");
    } else if (word == "then") {
      if (flow_.take_then()) note("an if whose condition is not known, taken as false");
    } else if (word == "do") {
      if (auto loop = flow_.take_do(); !loop.empty()) note(fmt::format("{}, its body once", loop));
    } else if (word == "function") {
      while (in_.peek() == ' ') in_.skip(1);
      auto name = read_fields();
      function_ = name.empty() ? "" : name.front().known();
    } else {
      is_keyword = end_compound(word) || word == "time" || word == "exec";
    }
    if (is_keyword) command_.clear_words();
  }

  bool read_assignment() {
    auto assignment = shell::read_assignment(in_, words_, flow_.expands());
    if (!assignment) return false;
    command_.has_assigned = true;
    if (!flow_.runs()) return true;
    if (command_.is_local) state_.keep(assignment->name, locals_);
    if (!command_.declares) state_.keep(assignment->name, command_.before);
    state_.assign(*std::move(assignment), in_.at());
    return true;
  }

  // A body is followed once, unless its list is empty.
  void begin_for(const Command& command) {
    const auto& words = command.words;
    bool is_of_list = words.size() > 2 && words[2].chars == "in";
    bool enters = !is_of_list || words.size() > 3;
    if (flow_.runs() && enters) {
      note(words.front().chars + ", its body once");
      if (words.size() > 1) state_.forget(words[1].known(), command.places[1]);
    }
    flow_.begin("done", enters);
  }

  void end_command(char connector = ' ') {
    auto command = std::exchange(command_, {});
    if (command.is_empty()) return;
    function_.clear();
    const auto& words = command.words;
    if (!words.empty() && (is_plain(words.front(), "for") || is_plain(words.front(), "select")))
      return begin_for(command);
    std::optional<bool> status = true;
    if (command.status)
      status = *command.status;
    else if (flow_.is_condition())
      status = words.empty() ? std::nullopt : shell::status_of(words, std::nullopt);
    else if (!words.empty() && !command.declares && flow_.runs())
      status = run(words, command.places);
    // A command's own environment is gone with it.
    if (!words.empty()) state_.restore(std::move(command.before));
    if (flow_.add(status, connector)) note("a condition that is not known, taken as false");
  }

  // Its status, as far as its text says: what is no condition succeeds.
  std::optional<bool> run(const std::vector<Text>& words, const std::vector<At>& places) {
    if (const auto* body = state_.function(words.front())) return call(*body, words);
    if (is_plain(words.front(), "return") && state_.is_in_function()) {
      in_.finish();
      if (words.size() < 2) return true;
      return words[1].is_known() ? std::optional(words[1].chars == "0") : std::nullopt;
    }
    constexpr std::array<std::string_view, 5> kConditions{"[", "test", "true", "false", ":"};
    if (std::ranges::find(kConditions, words.front().chars) == kConditions.end()) state_.run(words, places);
    return shell::status_of(words, true);
  }

  std::optional<bool> call(const Text& body, const std::vector<Text>& words) {
    State::Kept kept;
    if (!state_.begin_call(words, in_.at(), kept)) return std::nullopt;
    ScriptReader function({body, state_.source()}, state_);
    bool status = function.read();
    std::move(function.locals_.begin(), function.locals_.end(), std::back_inserter(kept));
    state_.end_call(std::move(kept), function.words_.written(), in_.at());
    return status;
  }

  Source in_;
  State& state_;
  Words words_;
  Flow flow_;
  Command command_;
  std::vector<Group> groups_;
  std::string function_;  // whose body is next
  State::Kept locals_;
};

}  // namespace

ShellScript read_shell_script(const LoadedText& text) {
  shell::State state(text.source);
  ScriptReader({text.text, text.source}, state).read();
  return state.take_script();
}

}  // namespace ddpsim
