#pragma once
// Tables written by a test, read back.
#include <string>
#include <vector>

#include "sim/calibrate/collective_table.hpp"

#include "tests/support/errors.hpp"
#include "tests/support/temporary_folder.hpp"

namespace ddpsim::calibrate {

inline std::vector<CollectiveTable> read_all(const std::string& text, const std::string& name = "t") {
  testing::TemporaryFolder folder;
  return read_collective_tables(folder.write(name, text));
}

// Of a file that holds one table.
inline CollectiveTable read_one(const std::string& text) {
  auto tables = read_all(text);
  EXPECT_EQ(tables.size(), 1U);
  return tables.at(0);
}

}  // namespace ddpsim::calibrate
