#include <gmock/gmock.h>

#include "sim/base/source.hpp"
#include "sim/trace/import/importer.hpp"

namespace ddpsim {
namespace {

TEST(Importers, AreFoundByName) {
  EXPECT_EQ(find_importer("layer-times").name, "layer-times");
}

TEST(Importers, AMisspeltNameIsAnError) {
  EXPECT_THAT([] { find_importer("layer-time"); },
              ::testing::ThrowsMessage<InputError>(::testing::HasSubstr("did you mean 'layer-times'?")));
}

TEST(Importers, TheNumberOfFilesIsChecked) {
  ImportRequest request;
  request.inputs = {"sizes.csv"};
  EXPECT_THAT([&] { import_trace(find_importer("layer-times"), request); },
              ::testing::ThrowsMessage<InputError>(
                  ::testing::HasSubstr("--format layer-times reads 2 files: SIZES.csv TIMES.csv")));
}

}  // namespace
}  // namespace ddpsim
