#pragma once
// Files for tests, in a folder that goes away with the object.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace ddpsim::testing {

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "ddpsim_test_XXXXXX").string();
    path_ = ::mkdtemp(pattern.data());
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  [[nodiscard]] std::string path(const std::string& name) const { return (path_ / name).string(); }

  // The path of a new file that holds `text`.
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(path(name), std::ios::binary) << text;
    return path(name);
  }

  // The same message with files named relative to this folder.
  [[nodiscard]] std::string without_folder(std::string message) const {
    auto prefix = path_.string() + "/";
    for (auto at = message.find(prefix); at != std::string::npos; at = message.find(prefix))
      message.erase(at, prefix.size());
    return message;
  }

 private:
  std::filesystem::path path_;
};

}  // namespace ddpsim::testing
