#include "sim/base/source.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/support/errors.hpp"
#include "tests/support/temporary_folder.hpp"

namespace ddpsim {
namespace {

using testing::input_error;
using testing::TemporaryFolder;

std::string rendered(const std::string& text, int line, int column, int length,
                     std::string_view hint = "hint") {
  return InputError({make_source("a.yaml", text), line, column, length}, "wrong", hint).what();
}

TEST(InputErrorText, PlaceLineCaretHint) {
  EXPECT_EQ(rendered("a: 1\nbb: 22\nc: 3\n", 2, 5, 2),
            "a.yaml:2:5: error: wrong\n"
            "  2 | bb: 22\n"
            "    |     ^~\n"
            "hint: hint");
}

TEST(InputErrorText, WithoutHint) {
  EXPECT_EQ(rendered("a: 1", 1, 1, 1, ""),
            "a.yaml:1:1: error: wrong\n"
            "  1 | a: 1\n"
            "    | ^");
}

TEST(InputErrorText, TheGutterIsAsWideAsTheLineNumber) {
  std::string text;
  for (int i = 1; i <= 120; ++i) text += "x\n";
  EXPECT_EQ(rendered(text, 120, 1, 1),
            "a.yaml:120:1: error: wrong\n"
            "  120 | x\n"
            "      | ^\n"
            "hint: hint");
}

TEST(InputErrorText, WithoutPlace) {
  EXPECT_STREQ(InputError("wrong", "hint").what(), "error: wrong\nhint: hint");
  EXPECT_STREQ(InputError("wrong").what(), "error: wrong");
}

TEST(InputErrorText, WholeFile) {
  EXPECT_STREQ(InputError(whole_file(make_source("a.yaml", "a: 1\n")), "wrong").what(),
               "a.yaml: error: wrong");
}

TEST(InputErrorText, LineBeyondTheFileIsNotQuoted) {
  EXPECT_EQ(rendered("a: 1\n", 7, 1, 1), "a.yaml:7:1: error: wrong\nhint: hint");
}

TEST(InputErrorText, TheUnderlineEndsWithTheLine) {
  EXPECT_EQ(rendered("abc", 1, 2, 50),
            "a.yaml:1:2: error: wrong\n"
            "  1 | abc\n"
            "    |  ^~\n"
            "hint: hint");
  EXPECT_EQ(rendered("abc", 1, 50, 3),
            "a.yaml:1:50: error: wrong\n"
            "  1 | abc\n"
            "    |    ^\n"
            "hint: hint");
  EXPECT_EQ(rendered("abc", 1, 2, 0),
            "a.yaml:1:2: error: wrong\n"
            "  1 | abc\n"
            "    |  ^\n"
            "hint: hint");
}

// One blank for a tab keeps the caret below its column.
TEST(InputErrorText, TabsAndControlCharactersBecomeBlanks) {
  EXPECT_EQ(rendered("a:\t\x1b[31m7\x7f", 1, 9, 1),
            "a.yaml:1:9: error: wrong\n"
            "  1 | a:  [31m7 \n"
            "    |         ^\n"
            "hint: hint");
}

TEST(InputErrorText, ControlCharactersInTheMessageBecomeBlanks) {
  EXPECT_STREQ(InputError("unknown key '\x1b[31m'", "not\a so").what(),
               "error: unknown key ' [31m'\nhint: not  so");
}

// Of 400 characters 160 are shown: from 80 before the caret at column 301 (300 before it), so from 220 on. 80
// remain before the caret and 80 from it; of the '~' after it, as many as fit.
// "µ" is two bytes and one character: the column counts bytes, the caret characters.
TEST(InputErrorText, TheCaretStandsUnderCharacters) {
  auto file = make_source("a.yaml", "\xC2\xB5\xC2\xB5: 5\xC2\xB5x\n");
  EXPECT_STREQ(InputError({file, 1, 7, 4}, "no").what(),
               "a.yaml:1:7: error: no\n"
               "  1 | \xC2\xB5\xC2\xB5: 5\xC2\xB5x\n"
               "    |     ^~~");
}

TEST(InputErrorText, LongLinesAreCutAroundThePlace) {
  std::string line = std::string(300, 'a') + std::string(100, 'b');
  EXPECT_EQ(rendered(line, 1, 301, 100),
            "a.yaml:1:301: error: wrong\n"
            "  1 | " +
                std::string(80, 'a') + std::string(80, 'b') + "\n    | " + std::string(80, ' ') + "^" +
                std::string(79, '~') + "\nhint: hint");
  EXPECT_EQ(rendered(line, 1, 3, 2),
            "a.yaml:1:3: error: wrong\n"
            "  1 | " +
                std::string(160, 'a') + "\n    |   ^~\nhint: hint");
  EXPECT_EQ(rendered(line, 1, 400, 1),
            "a.yaml:1:400: error: wrong\n"
            "  1 | " +
                std::string(81, 'b') + "\n    | " + std::string(80, ' ') + "^\nhint: hint");
}

TEST(InputErrorText, APlaceIsAddedOnlyWhereThereIsNone) {
  SourceSpan place{make_source("a.yaml", "abc"), 1, 2, 2};
  EXPECT_STREQ(InputError("wrong", "hint").at(place).what(),
               "a.yaml:1:2: error: wrong\n"
               "  1 | abc\n"
               "    |  ^~\n"
               "hint: hint");
  InputError placed(place, "wrong");
  EXPECT_STREQ(placed.at(whole_file(make_source("b.yaml", ""))).what(), placed.what());
  EXPECT_STREQ(InputError::rendered("as it came").at(place).what(), "as it came");
}

TEST(Span, PartStaysInItsLine) {
  SourceSpan span{make_source("a", "abcdef"), 1, 3, 4};
  EXPECT_EQ(span.part(2, 1).column, 5);
  EXPECT_EQ(span.part(2, 1).length, 1);
  EXPECT_EQ(whole_file(span.file).part(2, 1).column, 0);
}

TEST(MakeSource, Lines) {
  EXPECT_EQ(make_source("a", "x\ny")->lines, (std::vector<std::string>{"x", "y"}));
  EXPECT_EQ(make_source("a", "x\r\n\r\ny\r\n")->lines, (std::vector<std::string>{"x", "", "y"}));
  EXPECT_EQ(make_source("a", "")->lines, std::vector<std::string>{});
  EXPECT_EQ(make_source("a", "\n")->lines, std::vector<std::string>{""});
}

TEST(LoadText, WholeText) {
  TemporaryFolder folder;
  auto path = folder.write("a.yaml", "a: 1\r\nb: 2");
  auto loaded = load_text(path, "a scenario");
  EXPECT_EQ(loaded.text, "a: 1\r\nb: 2");
  EXPECT_EQ(loaded.source->lines, (std::vector<std::string>{"a: 1", "b: 2"}));
  EXPECT_EQ(loaded.source->name, path);
}

TEST(LoadText, LongerThanOneRead) {
  TemporaryFolder folder;
  std::string text(200'000, 'x');
  EXPECT_EQ(load_text(folder.write("a", text), "a scenario").text, text);
}

std::string load_error(const TemporaryFolder& folder, const std::string& name) {
  return folder.without_folder(
      input_error([&] { load_text(folder.path(name), "a scenario", std::size_t{1} << 20); }));
}

TEST(LoadText, Missing) {
  TemporaryFolder folder;
  EXPECT_EQ(load_error(folder, "none.yaml"),
            "none.yaml: error: no such file (expected a scenario)\n"
            "hint: check the path");
}

TEST(LoadText, Directory) {
  TemporaryFolder folder;
  std::filesystem::create_directory(folder.path("sub"));
  EXPECT_EQ(load_error(folder, "sub"),
            "sub: error: is a directory, not a scenario\n"
            "hint: name a file inside it");
}

TEST(LoadText, Empty) {
  TemporaryFolder folder;
  folder.write("a", "");
  folder.write("b", " \t\r\n\n");
  EXPECT_EQ(load_error(folder, "a"),
            "a: error: is empty (expected a scenario)\n"
            "hint: is it the right file?");
  EXPECT_EQ(load_error(folder, "b"),
            "b: error: is empty (expected a scenario)\n"
            "hint: is it the right file?");
}

TEST(LoadText, NulBytes) {
  TemporaryFolder folder;
  folder.write("a", std::string("a: 1\0b", 6));
  EXPECT_EQ(load_error(folder, "a"),
            "a: error: holds NUL bytes; it is not a scenario\n"
            "hint: is it a binary file?");
}

TEST(LoadText, TooLarge) {
  TemporaryFolder folder;
  folder.write("most", std::string(1 << 20, 'x'));
  EXPECT_EQ(load_text(folder.path("most"), "a scenario", 1 << 20).text.size(), 1U << 20);
  folder.write("more", std::string((1 << 20) + 1, 'x'));
  EXPECT_EQ(load_error(folder, "more"),
            "more: error: is larger than 1 MiB, too large for a scenario\n"
            "hint: is it the right file?");
}

TEST(LoadText, EndlessDevice) {
  EXPECT_EQ(input_error([] { load_text("/dev/zero", "a scenario", 1 << 20); }),
            "/dev/zero: error: is larger than 1 MiB, too large for a scenario\n"
            "hint: is it the right file?");
}

// In a process of its own, which gives up root's right to read everything.
TEST(LoadText, Unreadable) {
  TemporaryFolder folder;
  auto path = folder.write("a", "a: 1\n");
  std::filesystem::permissions(path, std::filesystem::perms::none);
  std::filesystem::permissions(folder.path("."), std::filesystem::perms::all);
  auto load = [&] {
    if (geteuid() == 0 && setuid(65534) != 0) _exit(1);
    std::string message = folder.without_folder(input_error([&] { load_text(path, "a scenario"); }));
    std::fputs(message.c_str(), stderr);
    _exit(0);
  };
  EXPECT_EXIT(load(), ::testing::ExitedWithCode(0),
              "^a: error: cannot be read: Permission denied\n"
              "hint: check its permissions$");
}

}  // namespace
}  // namespace ddpsim
