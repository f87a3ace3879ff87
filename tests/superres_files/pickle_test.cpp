#include "superres/files/pickle.h"

#include <gtest/gtest.h>

#include <string>

namespace anymps::superres {
namespace {

using Kind = files::PickleValue::Kind;
using std::string_literals::operator""s;

// pickletools.dis tells what these are; they were written by Python's pickle.
TEST(Pickle, NumbersAndTexts) {
  // [1, 300, 70000, -2, 2**40, 0.5, None, True, "text"], protocol 2
  const std::string bytes =
      "\x80\x02]q\x00(K\x01M,\x01Jp\x11\x01\x00J\xfe\xff\xff\xff\x8a\x06\x00\x00\x00\x00\x00\x01G?"
      "\xe0\x00\x00\x00\x00\x00\x00N\x88X\x04\x00\x00\x00textq\x01"
      "e."s;
  const files::Pickle pickle(bytes);
  const files::PickleValue& list = pickle.value();
  ASSERT_TRUE(list.is(Kind::kList));
  ASSERT_EQ(list.items.size(), 9U);
  EXPECT_EQ(list.items[0]->integer, 1);
  EXPECT_EQ(list.items[1]->integer, 300);
  EXPECT_EQ(list.items[2]->integer, 70000);
  EXPECT_EQ(list.items[3]->integer, -2);
  EXPECT_EQ(list.items[4]->integer, std::int64_t{1} << 40);
  EXPECT_EQ(list.items[5]->real, 0.5);
  EXPECT_TRUE(list.items[6]->is(Kind::kNone));
  EXPECT_EQ(list.items[7]->integer, 1);
  EXPECT_EQ(list.items[8]->text, "text");
}

// OrderedDict(a=1) with an attribute: c collections, an empty tuple, R, then items, then b.
TEST(Pickle, ADictionaryOfAnotherClassWithAttributes) {
  const files::Pickle pickle(
      "\x80\x02"
      "ccollections\nOrderedDict\nq\x00)Rq\x01X\x01\x00\x00\x00"
      "aK\x01s}q\x02X\x01\x00\x00\x00xK\x02sb."s);
  ASSERT_TRUE(pickle.value().is(Kind::kDictionary));
  ASSERT_NE(pickle.value().find("a"), nullptr);
  EXPECT_EQ(pickle.value().find("a")->integer, 1);
  EXPECT_EQ(pickle.value().find("x"), nullptr);
}

TEST(Pickle, CallsAreKeptAndNotMade) {
  const files::Pickle pickle("cposix\nsystem\nX\x04\x00\x00\x00true\x85R."s);
  ASSERT_TRUE(pickle.value().is(Kind::kCall));
  EXPECT_EQ(pickle.value().items[0]->text, "posix.system");
  EXPECT_EQ(pickle.value().items[1]->items[0]->text, "true");
}

TEST(Pickle, AListWithinItself) {
  const files::Pickle pickle(
      "]q\x00h\x00"
      "a."s);
  EXPECT_EQ(pickle.value().items[0], &pickle.value());
}

TEST(Pickle, WhatIsCutOrOddIsRefused) {
  const std::string whole =
      "\x80\x02"
      "ccollections\nOrderedDict\nq\x00)Rq\x01(X\x01\x00\x00\x00"
      "aK\x01X\x01\x00\x00\x00"
      "bK\x02u."s;
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_THROW(files::Pickle(std::string_view(whole).substr(0, size)), files::PickleError) << size;
  }
  for (const std::string& odd : {"."s, "a."s, "u."s, "t."s, "(."s, "(0."s, "h\x05."s, "\xfe."s, "R."s, "(K\x01u."s,
                                 "X\xff\xff\xff\xff."s, "\x8e\xff\xff\xff\xff\xff\xff\xff\xff."s}) {
    EXPECT_THROW(files::Pickle{odd}, files::PickleError) << testing::PrintToString(odd);
  }
}

}  // namespace
}  // namespace anymps::superres
