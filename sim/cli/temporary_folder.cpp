#include "sim/cli/temporary_folder.hpp"

#include <stdlib.h>

#include "sim/base/source.hpp"

namespace ddpsim::cli {

TemporaryFolder::TemporaryFolder() {
  std::error_code none;
  auto name = (std::filesystem::temp_directory_path(none) / "ddpsim-XXXXXX").string();
  if (none || !mkdtemp(name.data()))
    throw InputError("there can be no temporary folder in " + name,
                     "set TMPDIR to a folder that can be written");
  path_ = name;
  removed_.push_back(std::make_unique<RemovedOnInterrupt>(name));
}

std::string TemporaryFolder::file(const std::string& name) {
  auto path = (path_ / name).string();
  removed_.push_back(std::make_unique<RemovedOnInterrupt>(path));
  return path;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace ddpsim::cli
