#include "sim/base/input_log.hpp"

#include <filesystem>
#include <fstream>
#include <thread>

#include <gtest/gtest.h>

#include "sim/base/source.hpp"

namespace ddpsim {
namespace {

std::string file_with(const std::string& name, const std::string& text) {
  auto path = testing::TempDir() + name;
  std::ofstream(path) << text;
  return path;
}

// FIPS 180-2, appendix B.1: the hash of "abc".
TEST(InputLog, HashesAreThoseOfTheStandard) {
  InputLog log;
  log.add("x", "abc");
  ASSERT_EQ(log.files().size(), 1);
  EXPECT_EQ(log.files()[0].sha256, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(log.files()[0].bytes, 3);
}

TEST(InputLog, KeepsEachFileOnceInOrder) {
  auto first = file_with("input_log_b", "b\n"), second = file_with("input_log_a", "a\n");
  InputLog log;
  load_text(first, "a text");
  load_text(second, "a text");
  load_text(testing::TempDir() + "./input_log_b", "a text");
  ASSERT_EQ(log.files().size(), 2);
  EXPECT_EQ(log.files()[0].path, std::filesystem::path(first).lexically_normal());
  EXPECT_EQ(log.files()[1].path, std::filesystem::path(second).lexically_normal());
}

TEST(InputLog, WhatCannotBeReadIsNoInput) {
  InputLog log;
  EXPECT_THROW(load_text("no-such-file", "a text"), InputError);
  EXPECT_THROW(load_text(file_with("input_log_empty", ""), "a text"), InputError);
  EXPECT_TRUE(log.files().empty());
}

TEST(InputLog, EndsWithItsScope) {
  auto path = file_with("input_log_c", "c\n");
  { InputLog log; }
  load_text(path, "a text");
  InputLog log;
  std::thread([&] { load_text(path, "a text"); }).join();  // another thread's reading is not ours
  EXPECT_TRUE(log.files().empty());
}

}  // namespace
}  // namespace ddpsim
