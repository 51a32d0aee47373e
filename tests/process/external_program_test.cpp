#include "sim/process/external_program.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/base/backend_missing.hpp"
#include "sim/base/check.hpp"

namespace ddpsim::test {
namespace {

TEST(ExternalProgram, ATextLongerThanAPipe) {
  std::string text;
  for (int i = 0; i < 50000; ++i) text += std::to_string(i) + "\n";
  EXPECT_EQ(run_program({"cat", {}, "texts are copied", "coreutils"}, text), text);
}

TEST(ExternalProgram, WhatItRefusesIsAnInternalErrorWithItsComplaint) {
  try {
    run_program({"sh", {}, "scripts are run", "dash"}, "echo nonsense >&2\nexit 3\n");
    FAIL() << "no error";
  } catch (const InternalError& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr("'sh' failed: nonsense"));
  }
}

TEST(ExternalProgram, MissingSaysHowToInstallIt) {
  const ExternalProgram missing{"no-such-program", {}, "graphs are drawn", "graphviz"};
  for (const auto& use : {std::function<void()>([&] { require_program(missing); }),
                          std::function<void()>([&] { run_program(missing, ""); })})
    try {
      use();
      FAIL() << "no error";
    } catch (const BackendMissing& error) {
      EXPECT_STREQ(error.what(),
                   "graphs are drawn by 'no-such-program', which is not installed\n"
                   "hint: on Debian or Ubuntu: apt-get install graphviz");
    }
}

}  // namespace
}  // namespace ddpsim::test
