#pragma once
// A text file, plain or gzip, read once from front to back in blocks: what a file holds never lies in memory
// as a whole.
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/source.hpp"

struct gzFile_s;  // zlib's

namespace ddpsim {

class CompressedText {
 public:
  // Throws InputError when the file is missing, a directory or empty; `what` names the expected content.
  // `progress` is told the share of the file's (compressed) bytes read so far; it may be empty.
  CompressedText(const std::string& path, std::string_view what, std::function<void(double)> progress);

  // The characters one by one. Throws InputError when the file is cut off, damaged or cannot be read, and
  // when longest_token() bytes went by without mark_token().
  [[nodiscard]] bool at_end() {
    if (next_ != last_) return false;
    refill();
    return next_ == last_;
  }
  [[nodiscard]] const char& current() const { return *next_; }
  void advance() { ++next_; }

  // Tells that the reader needs nothing it has read so far.
  void mark_token() { token_start_ = consumed(); }
  [[nodiscard]] static std::uint64_t longest_token() { return std::uint64_t{16} << 20; }

  // An error at the last character read: "file:line:column", or a byte's number where the lines are long.
  [[nodiscard]] InputError error(std::string_view message, std::string_view hint) const;
  // An error about the file as a whole.
  [[nodiscard]] InputError file_error(std::string_view message, std::string_view hint) const;

 private:
  void refill();
  void check_end() const;
  [[nodiscard]] std::uint64_t consumed() const {
    return block_start_ + static_cast<std::uint64_t>(next_ - block_.data());
  }

  std::string path_;
  std::string_view what_;
  std::function<void(double)> progress_;
  std::unique_ptr<gzFile_s, int (*)(gzFile_s*)> file_;
  double file_size_ = 0;
  std::vector<char> block_;
  const char* next_ = nullptr;
  const char* last_ = nullptr;
  std::uint64_t block_start_ = 0, token_start_ = 0;
  std::uint64_t lines_before_ = 0,
                line_start_ = 0;  // of the block: line ends before it, where its line began
};

}  // namespace ddpsim
