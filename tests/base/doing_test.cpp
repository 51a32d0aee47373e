// What a line of progress hears.
#include "sim/base/doing.hpp"

#include <memory>
#include <vector>

#include <gtest/gtest.h>

namespace ddpsim {
namespace {

TEST(Doing, TheLastToBeginIsHeard) {
  EXPECT_EQ(doing_now(), "");
  Doing reading("reading");
  EXPECT_EQ(doing_now(), "reading");
  {
    Doing folding("folding");
    EXPECT_EQ(doing_now(), "folding");
    folding.done(0.345);
    EXPECT_EQ(doing_now(), "folding, 34 % done");
  }
  EXPECT_EQ(doing_now(), "reading");
}

// Threads end in another order than they begin.
TEST(Doing, WhoeverIsLeftIsHeard) {
  auto first = std::make_unique<Doing>("first");
  auto second = std::make_unique<Doing>("second");
  first.reset();
  EXPECT_EQ(doing_now(), "second");
  second.reset();
  EXPECT_EQ(doing_now(), "");
}

TEST(Doing, TooManyAreNotHeard) {
  std::vector<std::unique_ptr<Doing>> many;
  for (int i = 0; i < 100; ++i) many.push_back(std::make_unique<Doing>("one of many"));
  many.back()->done(0.5);
  EXPECT_EQ(doing_now(), "one of many");
  many.clear();
  EXPECT_EQ(doing_now(), "");
}

}  // namespace
}  // namespace ddpsim
