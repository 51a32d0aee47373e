#pragma once
#include <filesystem>
#include <string>

namespace ddpsim::cli {

// A new folder for files that nobody keeps; gone with this object.
class TemporaryFolder {
 public:
  TemporaryFolder();  // throws InputError where there can be none
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  [[nodiscard]] std::string file(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

}  // namespace ddpsim::cli
