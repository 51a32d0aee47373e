#pragma once
// Outputs that are whole or absent: written to a temporary file beside the target, then renamed over it.
#include <memory>
#include <string>
#include <string_view>

namespace ddpsim {

// Throws InputError when `path` cannot become a file: its folder is missing or not writable, it is a
// directory, or this process has read it. Call it for every output before work starts.
void check_writable(const std::string& path, std::string_view option);

// A file written part by part. Until finish() what stands at `path` is as it was; a link there stays a link,
// and a pipe or device is written to at once. All throw InputError when the disk refuses, or for a file that
// this process has read.
class WholeFile {
 public:
  explicit WholeFile(std::string path);
  ~WholeFile();
  WholeFile(const WholeFile&) = delete;
  WholeFile& operator=(const WholeFile&) = delete;

  void append(std::string_view part);
  void finish();

 private:
  struct Temporary;
  [[noreturn]] void fail(int error) const;

  std::string given_, target_;
  std::unique_ptr<Temporary> file_;
};

// Writes `contents` to `path` at once.
void write_whole_file(const std::string& path, std::string_view contents);

}  // namespace ddpsim
