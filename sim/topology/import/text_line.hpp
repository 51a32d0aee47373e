#pragma once
// A line of what a tool has printed, as words and cells that know their places.
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/source.hpp"

namespace ddpsim {

class TextLine {
 public:
  // The terminal's escape sequences are blanked; copying may have lost their first character.
  TextLine(const std::shared_ptr<const SourceFile>& source, std::size_t index);

  // Words between blanks.
  [[nodiscard]] std::vector<Located> words() const;
  // The name of the row and what stands in its columns: between tabs if there are any, else word by word.
  [[nodiscard]] std::vector<Located> cells() const;
  [[nodiscard]] bool has(std::string_view text) const { return text_.find(text) != std::string::npos; }
  [[nodiscard]] SourceSpan place() const;  // all of it
  [[nodiscard]] SourceSpan end() const { return {source_, number_, static_cast<int>(text_.size()) + 1, 1}; }

 private:
  [[nodiscard]] Located part(std::size_t begin, std::size_t end) const;

  std::shared_ptr<const SourceFile> source_;
  int number_;
  std::string text_;
};

// The index of the first line from `first` on that holds it.
std::optional<std::size_t> line_with(const std::shared_ptr<const SourceFile>& source, std::string_view text,
                                     std::size_t first = 0);

}  // namespace ddpsim
