#pragma once
// Which files a result was made of.
#include <string>
#include <string_view>
#include <vector>

namespace ddpsim {

struct InputFile {
  std::string path;  // as it was opened, without "x/../"
  std::size_t bytes = 0;
  std::string sha256;  // of its contents, hexadecimal
};

// Keeps the files that load_text() reads in this thread while it lives, each path once, in the order of first
// reading. One at a time.
class InputLog {
 public:
  InputLog();
  ~InputLog();
  InputLog(const InputLog&) = delete;
  InputLog& operator=(const InputLog&) = delete;

  // A text that came another way.
  void add(const std::string& path, std::string_view text);
  [[nodiscard]] const std::vector<InputFile>& files() const { return files_; }

 private:
  std::vector<InputFile> files_;
};

// Told of each file that is read; nothing happens where no log is kept.
void log_input(const std::string& path, std::string_view text);

}  // namespace ddpsim
