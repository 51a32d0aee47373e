#include "sim/base/shared_text.hpp"

#include <sstream>

#include <gtest/gtest.h>

namespace ddpsim {
namespace {

TEST(SharedText, CopiesShareOneText) {
  SharedText text(std::string("model.layers.0.self_attn.q_proj.weight"));
  auto copy = text;
  EXPECT_EQ(&copy.str(), &text.str());
  EXPECT_EQ(copy, text);
}

TEST(SharedText, IsEqualByWhatItSays) {
  EXPECT_EQ(SharedText("a"), SharedText(std::string("a")));
  EXPECT_EQ(SharedText("a"), "a");
  EXPECT_FALSE(SharedText("a") == SharedText("b"));
  EXPECT_EQ(SharedText(), SharedText(""));
  EXPECT_TRUE(SharedText().empty());
}

TEST(SharedText, IsWrittenAsItsText) {
  SharedText text("weight");
  EXPECT_EQ(fmt::format("{}|{:>8}", text, text), "weight|  weight");
  std::ostringstream out;
  out << text;
  EXPECT_EQ(out.str(), "weight");
}

}  // namespace
}  // namespace ddpsim
