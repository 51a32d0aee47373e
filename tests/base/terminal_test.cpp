#include "sim/base/terminal.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ddpsim {
namespace {

TEST(Terminal, BreaksProseBetweenWords) {
  Terminal narrow{20};
  EXPECT_EQ(narrow.wrapped("one two three four five six"), "one two three four\nfive six");
  EXPECT_EQ(narrow.wrapped("- one two three four five", Look::plain, 2), "- one two three four\n  five");
  EXPECT_EQ(narrow.wrapped("a-word-that-is-longer-than-the-line and more"),
            "a-word-that-is-longer-than-the-line\nand more");
  EXPECT_EQ(Terminal{}.wrapped(std::string(300, 'x') + " y"), std::string(300, 'x') + " y");
}

// Prose is no wider than people read; a number stays with its unit.
TEST(Terminal, KeepsNumbersWithTheirUnits) {
  EXPECT_EQ(Terminal{12}.wrapped("it takes 25 MiB."), "it takes\n25 MiB.");
  EXPECT_EQ(Terminal{12}.wrapped("it takes some MiB."), "it takes\nsome MiB.");
  std::string words;
  for (int i = 0; i < 60; ++i) words += "word ";
  for (std::size_t at = 0, end = 0; end != std::string::npos; at = end + 1) {
    auto text = Terminal{200}.wrapped(words);
    end = text.find('\n', at);
    EXPECT_LE(std::min(end, text.size()) - at, 100U);
  }
}

TEST(Terminal, KeepsBlanksWithinALine) {
  EXPECT_EQ(Terminal{30}.wrapped("  name      a fact of more words than fit", Look::plain, 12),
            "  name      a fact of more\n            words than fit");
}

TEST(Terminal, SaysWithoutUtf8WhatSignsSay) {
  Terminal ascii{80, false, false};
  EXPECT_EQ(ascii.shown("▶ 1–2 × ± ≈ █"), "> 1-2 x +- ~ #");
  EXPECT_EQ((Terminal{80}.shown("▶ 1–2")), "▶ 1–2");
}

TEST(Terminal, ColoursOnlyWhereItHasColours) {
  EXPECT_EQ((Terminal{80, true}.shown("best", Look::best)), "\033[1;32mbest\033[0m");
  EXPECT_EQ((Terminal{80, true}.shown("plain")), "plain");
  EXPECT_EQ((Terminal{80, false}.shown("best", Look::best)), "best");
}

TEST(Terminal, CountsColumnsNotBytes) {
  EXPECT_EQ(display_width("1–2"), 3U);
  EXPECT_EQ(to_right("–", 3), "  –");
  EXPECT_EQ(to_left("–", 3), "–  ");
  EXPECT_EQ(to_left("long", 3), "long");
}

}  // namespace
}  // namespace ddpsim
