#include "lab/base/safe_text.h"

#include <gtest/gtest.h>

#include "lab/base/terminal.h"

namespace anymps::lab::base {
namespace {

TEST(SafeText, NothingMovesTheCursorOrSetsTheTitle) {
  EXPECT_EQ(for_terminal("a\x1b[2Jb"), "a?[2Jb");
  EXPECT_EQ(for_terminal("a\x1b]0;title\x07z"), "a?]0;title?z");
  EXPECT_EQ(for_terminal("a\rb\x08\x7f"), "a?b??");
  EXPECT_EQ(for_terminal("a\xc2\x9b"
                         "2Jb"),
            "a?2Jb");
  EXPECT_EQ(for_terminal("a\xe2\x80\xae"
                         "b\xe2\x81\xa6"),
            "a?b?");
  EXPECT_EQ(for_terminal("\x1b[8mhidden\x1b[0"), "?[8mhidden?[0");
}

TEST(SafeText, WhatIsOursAndWhatIsReadStays) {
  const Terminal terminal{80, true, false};
  const std::string screen = terminal.paint(kRed, "red") + "\n\t" + terminal.paint(kBold, "µs → 1 × 2, 日本語");
  EXPECT_EQ(for_terminal(screen), screen);
}

TEST(SafeText, ALineHasNoColoursEither) { EXPECT_EQ(on_one_line("a\nb\tc\x1b[31md"), "a?b\tc?[31md"); }

TEST(SafeText, NoCellIsAFormula) {
  EXPECT_EQ(csv_cell("=HYPERLINK(\"x\")"), "\"'=HYPERLINK(\"\"x\"\")\"");
  EXPECT_EQ(csv_cell("+1+cmd|' /C calc'!A0"), "'+1+cmd|' /C calc'!A0");
  EXPECT_EQ(csv_cell("@sum"), "'@sum");
  EXPECT_EQ(csv_cell("-x"), "'-x");
  EXPECT_EQ(csv_cell("-0.5"), "-0.5");
  EXPECT_EQ(csv_cell("+2e3"), "+2e3");
  EXPECT_EQ(csv_cell("a,b"), "\"a,b\"");
}

}  // namespace
}  // namespace anymps::lab::base
