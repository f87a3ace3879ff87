#include "gpu/history/mac_profile.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <stdexcept>
#include <string>

namespace anymps::gpu::history {
namespace {

constexpr double kBytesInMiB = 1024.0 * 1024;
constexpr MacosVersion kSonoma{14, 5};

std::string refusal_of(std::string_view mac, std::string_view macos = "") {
  try {
    choose_mac(mac, macos);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return {};
}

// The figures that users of real Macs reported, in the digits in which they reported them.
TEST(MacProfile, WorkingSetsAreTheReportedOnes) {
  const struct {
    const char* mac;
    MacosVersion macos;
    double mebibytes;
    double precision;
  } reported[] = {
      {"m2-8gb", kSonoma, 5461.34, 0.01},       {"m1-16gb", kSonoma, 10922.67, 0.01},
      {"m2max-32gb", kSonoma, 21845.34, 0.01},  {"m1max-64gb", kSonoma, 49152, 0},
      {"m2max-96gb", kSonoma, 73728, 0},        {"m4max-128gb", {26, 0}, 107.52 * 1024, 0.1},
      {"m1-16gb", {26, 0}, 11.84 * 1024, 0.02}, {"m4pro-48gb", {26, 2}, 40200.90e6 / kBytesInMiB, 0.01},
  };
  for (const auto& row : reported) {
    const auto mac = find_mac(row.mac);
    ASSERT_TRUE(mac) << row.mac;
    EXPECT_NEAR(mac->working_set(row.macos).value / kBytesInMiB, row.mebibytes, row.precision) << row.mac;
  }
}

TEST(MacProfile, TheLargestBufferIsThreeQuarters) {
  EXPECT_EQ(max_buffer_for(std::size_t{49152} << 20), std::size_t{36864} << 20);
  EXPECT_EQ(max_buffer_for(12713115648), 9534832640U);  // both from one log
}

TEST(MacProfile, EveryFigureIsThereAndHasASource) {
  std::set<std::string> known;
  for (const MacSource& source : mac_sources()) known.insert(source.key);
  std::set<std::string> names;
  for (const MacProfile& mac : all_macs()) {
    EXPECT_TRUE(names.insert(mac.name).second) << mac.name;
    for (const Figure& figure :
         {mac.memory, mac.cores, mac.fewest_cores, mac.bandwidth, mac.peak_flops, mac.first_macos, mac.newest_macos,
          mac.working_set_before_26, mac.working_set_from_26}) {
      EXPECT_GT(figure.value, 0) << mac.name;
      EXPECT_TRUE(known.contains(figure.source)) << mac.name << " " << figure.source;
    }
    EXPECT_LE(mac.fewest_cores.value, mac.cores.value) << mac.name;
    EXPECT_LT(mac.working_set_from_26.value, mac.memory.value) << mac.name;
    EXPECT_LE(mac.working_set_before_26.value, mac.working_set_from_26.value) << mac.name;
    // The name says the memory.
    const std::string gigabytes = std::to_string(std::llround(mac.memory.value / kBytesInMiB / 1024)) + "gb";
    EXPECT_TRUE(std::string(mac.name).ends_with("-" + gigabytes)) << mac.name;
  }
  for (const char* name : {"m1-8gb", "m1-16gb", "m2-8gb", "m3pro-36gb", "m4max-128gb", "m3ultra-512gb", "m5-16gb"}) {
    EXPECT_TRUE(names.contains(name)) << name;
  }
}

TEST(MacProfile, AMachineOfItsOwnSizeFollowsTheNextSmallerMac) {
  for (const MacProfile& mac : all_macs()) {
    const auto memory = static_cast<std::size_t>(mac.memory.value);
    EXPECT_EQ(working_set_for(memory, {26, 0}), static_cast<std::size_t>(mac.working_set_from_26.value)) << mac.name;
    EXPECT_EQ(working_set_for(memory, {15, 0}), static_cast<std::size_t>(mac.working_set_before_26.value)) << mac.name;
  }
  constexpr std::size_t kOdd = std::size_t{20} << 30;
  EXPECT_NEAR(static_cast<double>(working_set_for(kOdd, {26, 0})) / kOdd, 0.74, 1e-5);
}

TEST(MacProfile, AMistypedNameIsRefusedWithTheNearest) {
  EXPECT_EQ(nearest_macs("m2-9gb", 1), std::vector<std::string>{"m2-8gb"});
  EXPECT_EQ(nearest_macs("m3pro36gb", 1), std::vector<std::string>{"m3pro-36gb"});
  const std::string refusal = refusal_of("m4max-127gb");
  EXPECT_NE(refusal.find("m4max-128gb"), std::string::npos) << refusal;
  EXPECT_EQ(refusal.find('\n'), std::string::npos);
}

TEST(MacProfile, FamiliesFollowTheGenerations) {
  EXPECT_EQ(find_mac("m1-8gb")->gpu_family(), 7U);
  EXPECT_EQ(find_mac("m2-8gb")->gpu_family(), 8U);
  EXPECT_EQ(find_mac("m3-8gb")->gpu_family(), 9U);
  EXPECT_EQ(find_mac("m4-16gb")->gpu_family(), 9U);
  EXPECT_EQ(find_mac("m5-16gb")->gpu_family(), 10U);
}

TEST(MacProfile, NamesAreFoundInAnyCase) { EXPECT_TRUE(find_mac("M2-8GB")); }

TEST(MacProfile, IntelMacsAreRefusedForWhatTheyAre) {
  for (const char* name : {"intel-amd", "imacpro-vega64", "macbookpro-radeon"}) {
    EXPECT_NE(refusal_of(name).find("Intel processor"), std::string::npos) << name;
  }
}

TEST(MacProfile, VersionsOfMacosAreParsed) {
  EXPECT_EQ(MacosVersion::parse("14.5"), (MacosVersion{14, 5}));
  EXPECT_EQ(MacosVersion::parse("26"), (MacosVersion{26, 0}));
  EXPECT_EQ(MacosVersion::parse("15.1.2"), (MacosVersion{15, 1}));
  for (const char* wrong : {"", "sonoma", "14.", "14.5.1.2", "14,5", " 14", "-1"}) {
    EXPECT_FALSE(MacosVersion::parse(wrong)) << wrong;
  }
  EXPECT_LT((MacosVersion{13, 6}), kOldestMacos);
  EXPECT_NE(refusal_of("", "sonoma").find("sonoma"), std::string::npos);
}

TEST(MacProfile, NothingChosenIsThisMachine) {
  const ChosenMac chosen = choose_mac("", "");
  EXPECT_FALSE(chosen.mac);
  EXPECT_EQ(chosen.macos, kDefaultMacos);
}

}  // namespace
}  // namespace anymps::gpu::history
