#pragma once
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "sim/base/program_exit.hpp"

namespace ddpsim::cli {

// A new folder for files that nobody keeps; gone with this object, or when the program is interrupted.
class TemporaryFolder {
 public:
  TemporaryFolder();  // throws InputError where there can be none
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  [[nodiscard]] std::string file(const std::string& name);

 private:
  std::filesystem::path path_;
  std::vector<std::unique_ptr<RemovedOnInterrupt>> removed_;  // the folder, then the files
};

}  // namespace ddpsim::cli
