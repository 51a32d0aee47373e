#pragma once
// Where a value stands in the user's text, and the error that points there.
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace ddpsim {

// A text the user gave us, kept to quote it in errors. `name` is what the user typed: a path, or the option
// that took it.
struct SourceFile {
  std::string name;
  std::vector<std::string> lines;
  bool is_typed = false;  // as a scenario's key on the command line: paths in it start at the current folder
};

// Lines and columns count from 1, columns in bytes; line 0 means "the file as a whole".
struct SourceSpan {
  std::shared_ptr<const SourceFile> file;
  int line = 0;
  int column = 0;
  int length = 1;

  // The part of this span that starts `offset` bytes in.
  [[nodiscard]] SourceSpan part(int offset, int part_length) const;
  [[nodiscard]] bool is_typed() const { return file && file->is_typed; }
};

// A piece of the user's text and where it stands.
struct Located {
  std::string text;
  SourceSpan span;
};

// The user's mistake. what() is the whole message: "file:line:column: error: message", the source line with a
// caret, and the hint on a line of its own.
class InputError : public std::runtime_error {
 public:
  InputError(const SourceSpan& span, std::string_view message, std::string_view hint = {});
  // For mistakes that stand in no file: "error: message".
  explicit InputError(std::string_view message, std::string_view hint = {});
  // An error whose whole text is already rendered, as it comes back from a worker process.
  static InputError rendered(const std::string& text) { return InputError(Rendered{text}); }
  // The same mistake with a place, for errors found where the place was not known; an error that has one
  // keeps it.
  [[nodiscard]] InputError at(const SourceSpan& span) const;
  // Names the key the mistake is about, for whoever knows where that key stands.
  InputError&& about(std::string key) &&;
  [[nodiscard]] const std::string& subject() const { return subject_; }
  [[nodiscard]] const std::string& message() const { return message_; }  // without place and hint

 private:
  struct Rendered {
    const std::string& text;
  };
  explicit InputError(Rendered rendered) : std::runtime_error(rendered.text), has_place_(true) {}

  bool has_place_ = false;
  std::string message_, hint_, subject_;
};

// Splits text into the lines that errors quote; "\r\n" counts as one line end.
std::shared_ptr<const SourceFile> make_source(std::string name, std::string_view text, bool is_typed = false);

// Reads a whole text file. Throws InputError when it is missing, a directory, unreadable, empty, larger than
// `max_bytes` or holds NUL bytes (a wrong file type); `what` names the expected content in the message, e.g.
// "a scenario".
struct LoadedText {
  std::shared_ptr<const SourceFile> source;
  std::string text;
};
LoadedText load_text(const std::string& path, std::string_view what,
                     std::size_t max_bytes = std::size_t{64} << 20);

SourceSpan whole_file(std::shared_ptr<const SourceFile> file);

}  // namespace ddpsim
