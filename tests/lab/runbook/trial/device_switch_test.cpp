#include "lab/runbook/trial/device_switch.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "lab/runbook/test_folder.h"

namespace anymps::lab::runbook::trial {
namespace {

TEST(DeviceSwitch, IsWhatTheUserNames) {
  EXPECT_EQ(device_switch({"python", "t.py"}, "--on", "").name, "--on");
  EXPECT_EQ(device_switch({"python", "t.py"}, "", "DEVICE").name, "DEVICE");
  EXPECT_THROW(device_switch({"python", "t.py"}, "--device", "DEVICE"), std::invalid_argument);
}

TEST(DeviceSwitch, AsksWhereTheScriptKnowsNoDevice) {
  const TestFolder folder;
  const std::string script = (folder.path() / "t.py").string();
  folder.write("t.py", "print('hello')\n");
  EXPECT_THROW(device_switch({"python", script}, "", ""), std::invalid_argument);
  EXPECT_EQ(device_switch({"python", script, "--device", "cpu"}, "", "").name, "--device");
  EXPECT_EQ(device_switch({"python", script, "--device=cpu"}, "", "").name, "--device");
  folder.write("t.py", "parser.add_argument('--device')\n");
  EXPECT_EQ(device_switch({"python", script}, "", "").name, "--device");
}

TEST(DeviceSwitch, TakesTheUsualOptionForModules) {
  EXPECT_EQ(device_switch({"python", "-m", "package.train"}, "", "").name, "--device");
}

}  // namespace
}  // namespace anymps::lab::runbook::trial
