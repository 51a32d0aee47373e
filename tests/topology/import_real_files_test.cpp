// The importers on files of real machines, where there are any; on our own ones in any case.
#include <algorithm>
#include <filesystem>
#include <iostream>

#include <gtest/gtest.h>

#include "tests/topology/imports.hpp"

namespace ddpsim {
namespace {

namespace fs = std::filesystem;

// A folder of real files beside the repository, where there is one.
const fs::path kRealFiles = fs::path(DDPSIM_SOURCE_DIR) / ".." / "shared" / "data" / "topology";

std::vector<fs::path> files_to_import() {
  std::vector<fs::path> files;
  std::error_code absent;
  for (const auto& folder : {fs::path(testing::fixture("")), kRealFiles})
    for (const auto& entry : fs::directory_iterator(folder, absent))
      if (auto ending = entry.path().extension(); ending == ".xml" || ending == ".txt")
        files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

nccl::Gpu gpu_of(const std::string& name) {
  auto has = [&](std::string_view word) { return name.find(word) != std::string::npos; };
  return has("h100") ? nccl::Gpu::hopper : has("V100") || has("mesh") ? nccl::Gpu::volta : nccl::Gpu::ampere;
}

TEST(ImportRealFiles, ReadBackAndAgreeWithTheMatrix) {
  if (!fs::exists(kRealFiles)) std::cout << "no folder of real files beside the repository: fixtures only\n";
  auto files = files_to_import();
  ASSERT_GE(files.size(), 9u);
  for (const auto& file : files) {
    SCOPED_TRACE(file.filename());
    auto import = testing::from(file.string());
    import.gpu = gpu_of(file.filename().string());
    import.nic_bandwidth = BytesPerSecond(12.5e9);
    import.pcie_generation = 4;
    auto cluster = testing::imported(import);
    EXPECT_GE(cluster->gpus(), 2);
    if (file.extension() == ".txt") {
      EXPECT_EQ(testing::shown(*cluster), testing::gpu_cells(testing::contents(file.string())));
    }
    std::cout << file.filename().string() << ": " << testing::import_any(import).summary << "\n";
  }
}

}  // namespace
}  // namespace ddpsim
