#include "lab/runbook/trial/circumstances.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lab/host/git_state.h"
#include "lab/host/round_trip.h"
#include "lab/runbook/test_folder.h"
#include "lab/runbook/trial/data_checksum.h"

namespace anymps::lab::runbook::trial {
namespace {

TEST(Circumstances, AllFieldsAreThereWhateverTheSystemTells) {
  const auto facts = circumstances({});
  for (const char* name : {"machine", "container", "commit", "dirty", "data_set", "background", "artifact_store",
                           "cache_mounts", "environment", "fallback", "resolution", "owner", "swap", "thermal", "load",
                           "memory_free_bytes", "power_adapter", "low_power_mode", "battery_share"}) {
    EXPECT_TRUE(facts.contains(name)) << name;
  }
  EXPECT_TRUE(facts["resolution"].is_null());
  EXPECT_GT(facts["machine"]["memory_bytes"].get<std::uint64_t>(), 0U);
  EXPECT_EQ(circumstances({.data = "", .artifact_store = "", .resolution = "224x224", .owner = "me"})["owner"], "me");
}

TEST(Circumstances, ADataSetThatCannotBeReadIsSaid) {
  const auto facts = circumstances({.data = "/does/not/exist", .artifact_store = "", .resolution = "", .owner = ""});
  EXPECT_TRUE(facts["data_set"]["sha256"].is_null());
  EXPECT_NE(facts["data_set"]["error"].get<std::string>().find("/does/not/exist"), std::string::npos);
}

TEST(DataChecksum, NamesSizesAndContentsCount) {
  const TestFolder one;
  one.write("a/x", "1");
  one.write("b", "22");
  const DataChecksum sum = data_checksum(one.path());
  EXPECT_EQ(sum.files, 2U);
  EXPECT_EQ(sum.bytes, 3U);
  EXPECT_EQ(data_checksum(one.path()).sha256, sum.sha256);
  one.write("b", "23");
  const std::string changed = data_checksum(one.path()).sha256;
  EXPECT_NE(changed, sum.sha256);
  one.write("b", "22");
  std::filesystem::rename(one.path() / "a/x", one.path() / "a/y");
  EXPECT_NE(data_checksum(one.path()).sha256, sum.sha256);
  std::filesystem::rename(one.path() / "a/y", one.path() / "a/x");
  EXPECT_EQ(data_checksum(one.path()).sha256, sum.sha256);
}

TEST(GitState, CommitAndChanges) {
  EXPECT_EQ(host::git_state_in("# branch.oid abc\n# branch.head main\n").commit, "abc");
  EXPECT_FALSE(host::git_state_in("# branch.oid abc\n# branch.head main\n").dirty);
  EXPECT_TRUE(host::git_state_in("# branch.oid abc\n1 .M N... 100644 100644 100644 a b src/x\n").dirty);
  EXPECT_EQ(host::git_state_in("# branch.oid (initial)\n# branch.head main\n").commit, "");
}

TEST(RoundTrip, Targets) {
  EXPECT_EQ(host::HostAndPort::parse("store").port, "22");
  EXPECT_EQ(host::HostAndPort::parse("me@store:443").host, "store");
  EXPECT_EQ(host::HostAndPort::parse("me@store:443").port, "443");
  EXPECT_EQ(host::HostAndPort::parse("[fe80::1]:80").host, "fe80::1");
  EXPECT_EQ(host::HostAndPort::parse("[fe80::1]:80").port, "80");
  EXPECT_EQ(host::HostAndPort::parse("fe80::1").host, "fe80::1");
}

TEST(RoundTrip, AHostThatListensHasATimeAndOneThatDoesNotAReason) {
  const int listener = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ASSERT_EQ(::bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  ASSERT_EQ(::listen(listener, 8), 0);
  socklen_t size = sizeof address;
  ASSERT_EQ(::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size), 0);
  const host::HostAndPort target{"127.0.0.1", std::to_string(ntohs(address.sin_port))};
  const host::RoundTrip there = host::round_trip(target);
  EXPECT_TRUE(there.seconds);
  EXPECT_EQ(there.error, "");
  ::close(listener);
  const host::RoundTrip gone = host::round_trip(target);
  EXPECT_FALSE(gone.seconds);
  EXPECT_NE(gone.error, "");
}

}  // namespace
}  // namespace anymps::lab::runbook::trial
