#include "sim/report/html_page.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ddpsim::html {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(HtmlPage, TextStaysText) {
  EXPECT_EQ(escaped("a < b && \"c\" > 'd'"), "a &lt; b &amp;&amp; &quot;c&quot; &gt; 'd'");
  EXPECT_EQ(escaped("<script>alert(1)</script>"), "&lt;script&gt;alert(1)&lt;/script&gt;");
}

TEST(HtmlPage, WhatIsNoTextIsReplaced) {
  EXPECT_EQ(escaped("a\x01"
                    "b\x7f\tc\nd"),
            "a b  c\nd");
  EXPECT_EQ(escaped("caf\xc3\xa9 \xff!"), "caf\xc3\xa9 \xef\xbf\xbd!");
}

TEST(HtmlPage, CellsSayWhatTheyAreSortedBy) {
  Table sorted{{"size", "<b>"}, {{{{"1 MiB", 1048576.0}, {"-"}}, true}}, true};
  EXPECT_EQ(table(sorted),
            "<div class=\"wide\"><table class=\"sortable\">\n<thead><tr>"
            "<th scope=\"col\"><button type=\"button\">size</button></th>"
            "<th scope=\"col\"><button type=\"button\">&lt;b&gt;</button></th></tr></thead>\n<tbody>\n"
            "<tr class=\"marked\"><td data-key=\"1048576\">1 MiB</td><td>-</td></tr>\n"
            "</tbody>\n</table></div>\n");
  sorted.is_sortable = false;
  EXPECT_THAT(table(sorted), Not(HasSubstr("button")));
}

TEST(HtmlPage, AnEmptyListIsNone) {
  EXPECT_EQ(list({}), "");
  EXPECT_EQ(list({"a & b"}), "<ul>\n<li>a &amp; b</li>\n</ul>\n");
}

TEST(HtmlPage, PicturesAreInTheirAddress) {
  EXPECT_EQ(picture("<svg a=\"#1\"/>", "\"x\""),
            "<figure><img src=\"data:image/svg+xml,%3Csvg%20a=%22%231%22/%3E\" alt=\"&quot;x&quot;\">"
            "<figcaption>&quot;x&quot;</figcaption></figure>\n");
}

TEST(HtmlPage, AsksNobody) {
  auto text = page("a < b", "<p>body</p>\n");
  EXPECT_THAT(text, testing::StartsWith("<!DOCTYPE html>\n<html lang=\"en\">"));
  EXPECT_THAT(text, HasSubstr("<title>a &lt; b</title>"));
  EXPECT_THAT(text, HasSubstr("default-src 'none'"));
  EXPECT_THAT(text, Not(HasSubstr("http:")));
  EXPECT_THAT(text, Not(HasSubstr("https:")));
}

}  // namespace
}  // namespace ddpsim::html
