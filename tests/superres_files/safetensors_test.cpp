#include "superres/files/safetensors.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

namespace anymps::superres {
namespace {

std::string file_with(const std::string& header, const std::string& data) {
  const std::uint64_t length = header.size();
  return std::string(reinterpret_cast<const char*>(&length), sizeof(length)) + header + data;
}

TEST(Safetensors, ComesBack) {
  const std::string data = "abcdefgh";
  files::Safetensors file;
  file.about = {{"format", "pt"}};
  file.entries = {{"b", "F32", {1}, std::string_view(data).substr(0, 4)},
                  {"a", "U8", {2, 2}, std::string_view(data).substr(4)}};
  const std::string bytes = files::safetensors_header(file) + data;
  const files::Safetensors again = files::parse_safetensors(bytes);
  EXPECT_EQ(again.about, file.about);
  ASSERT_EQ(again.entries.size(), 2U);
  for (const files::SafetensorsEntry& entry : again.entries)
    EXPECT_EQ(entry.bytes, entry.name == "a" ? "efgh" : "abcd");
}

TEST(Safetensors, WhatDoesNotFitTheFileIsRefused) {
  for (const char* entry : {
           R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})",                      // too short for its shape
           R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}})",                     // beyond the end
           R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}})",                      // backwards
           R"({"a":{"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,0]}})",  // wraps around
           R"({"a":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}})",
           R"({"a":{"dtype":"F4","shape":[2],"data_offsets":[0,8]}})",
           R"({"a":{"dtype":"F32","shape":"2","data_offsets":[0,8]}})",
           R"({"a":7})",
           R"([1])",
           R"({"a":)",
       }) {
    EXPECT_THROW(files::parse_safetensors(file_with(entry, "abcdefgh")), files::SafetensorsError) << entry;
  }
}

TEST(Safetensors, EachShorterFileIsRefused) {
  const std::string whole = file_with(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", "abcdefgh");
  EXPECT_NO_THROW(files::parse_safetensors(whole));
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_THROW(files::parse_safetensors(std::string_view(whole).substr(0, size)), files::SafetensorsError) << size;
  }
}

}  // namespace
}  // namespace anymps::superres
