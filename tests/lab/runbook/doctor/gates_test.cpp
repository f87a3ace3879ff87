#include "lab/runbook/doctor/gates.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "lab/gibibyte.h"
#include "lab/has_text.h"
#include "lab/runbook/doctor/doctor.h"
#include "lab/runbook/doctor/section.h"
#include "lab/runbook/doctor/summary.h"

namespace anymps::lab::runbook::doctor {
namespace {

using nlohmann::json;

// A Mac on which everything is in order.
DoctorFacts good_mac() {
  DoctorFacts facts;
  facts.on_mac = true;
  facts.hardware = "arm64";
  facts.machine = {"macOS 15.5", "Darwin 24.5.0", "arm64", "Apple M2", 8, 8, 16 * kGiB, std::nullopt};
  facts.power = {true, false, 1.0};
  facts.thermal = {std::nullopt, 1.0, ""};
  facts.swap = host::SwapState{0, 0};
  facts.load = 0.5;
  facts.memory_free = 12 * kGiB;
  facts.descriptors = 10240;
  facts.caches = {{"torch", "/Users/me/.cache/torch", "apfs", false, 100 * kGiB}};
  facts.python = {
      {"version", "3.12.3"},
      {"executable", "/opt/venv/bin/python"},
      {"platform", "darwin"},
      {"architecture", "arm64"},
      {"bits", 64},
      {"macos", "15.5"},
      {"start_method", "spawn"},
      {"injections", {{"pythonpath", json::array()}, {"folders", json::array()}}},
      {"wheel",
       {{"version", "2.13.0"},
        {"installer", "pip"},
        {"url", nullptr},
        {"tags", {"cp312-none-macosx_14_0_arm64"}},
        {"requires_python", ">=3.10"}}},
      {"torch", {{"version", "2.13.0"}, {"debug", false}}},
      {"threads", {{"operators", 8}, {"between_operators", 8}, {"backend", "OpenMP"}, {"libraries", json::object()}}},
      {"mps", {{"built", true}, {"available", true}}},
      {"device", {{"name", "Apple M2"}, {"limit_bytes", 10 * kGiB}}},
      {"product", {{"device", "mps"}, {"difference", 1e-6}, {"largest", 10.0}}}};
  return facts;
}

DoctorFacts good_linux() {
  DoctorFacts facts = good_mac();
  facts.on_mac = false;
  facts.hardware = "aarch64";
  facts.machine.system = "Debian";
  facts.machine.kernel = "Linux 6.1";
  facts.python["architecture"] = "aarch64";
  facts.python["wheel"]["tags"] = {"cp312-cp312-manylinux_2_28_aarch64"};
  facts.python["anymps"] = "0.1.0";
  facts.python["start_method"] = "fork";
  return facts;
}

Gate gate_of(const DoctorFacts& facts, std::string_view name) {
  const std::vector<Gate> gates = doctor_gates(facts);
  const auto found = std::ranges::find(gates, name, &Gate::name);
  if (found != gates.end()) return *found;
  ADD_FAILURE() << "there is no gate " << name;
  return {};
}

GateState state_of(const DoctorFacts& facts, std::string_view name) { return gate_of(facts, name).state; }

TEST(DoctorGates, AllAreGreenWhereAllIsWell) {
  for (const DoctorFacts& facts : {good_mac(), good_linux()}) {
    for (const Gate& gate : doctor_gates(facts)) {
      EXPECT_EQ(gate.state, GateState::kGreen) << gate.name << ": " << gate.value << " " << gate.why;
      EXPECT_FALSE(gate.value.empty()) << gate.name;
    }
  }
}

TEST(DoctorGates, WhatIsNotGreenSaysWhyAndWhatToDo) {
  DoctorFacts facts = good_mac();
  facts.python = {{"architecture", "x86_64"}, {"version", "3.8.1"}, {"torch_error", "No module named 'torch'"}};
  facts.power = {false, true, 0.2};
  facts.memory_free = 0;
  facts.descriptors = 64;
  int bad = 0;
  for (const Gate& gate : doctor_gates(facts)) {
    if (gate.state == GateState::kGreen) continue;
    ++bad;
    EXPECT_FALSE(gate.why.empty()) << gate.name;
    EXPECT_FALSE(gate.remedy.empty()) << gate.name;
  }
  EXPECT_GE(bad, 8);
}

TEST(DoctorGates, RosettaIsRed) {
  DoctorFacts facts = good_mac();
  facts.python["architecture"] = "x86_64";
  const Gate gate = gate_of(facts, "interpreter architecture");
  EXPECT_EQ(gate.state, GateState::kRed);
  EXPECT_NE(gate.why.find("Rosetta"), std::string::npos);
  EXPECT_EQ(gate.why.find("terminal"), std::string::npos);
  facts.translated = true;
  EXPECT_NE(gate_of(facts, "interpreter architecture").why.find("terminal"), std::string::npos);
  facts.hardware = "x86_64";
  EXPECT_NE(gate_of(facts, "interpreter architecture").value.find("Intel"), std::string::npos);
  facts = good_linux();
  facts.python["bits"] = 32;
  EXPECT_EQ(state_of(facts, "interpreter architecture"), GateState::kRed);
}

TEST(DoctorGates, MinimaOfMacosFollowTorch) {
  DoctorFacts facts = good_mac();
  facts.machine.system = "macOS 13.7";
  EXPECT_EQ(state_of(facts, "macOS"), GateState::kRed);
  facts.python["torch"]["version"] = "2.8.0";
  EXPECT_EQ(state_of(facts, "macOS"), GateState::kGreen);
  facts.machine.system = "macOS 12.6";
  EXPECT_EQ(state_of(facts, "macOS"), GateState::kRed);
  facts.python["torch"]["version"] = "2.4.1";
  EXPECT_EQ(state_of(facts, "macOS"), GateState::kGreen);
  // An x86 Python says 10.16 on any macOS.
  facts = good_mac();
  facts.python["macos"] = "10.16";
  EXPECT_EQ(state_of(facts, "macOS"), GateState::kGreen);
  facts = good_linux();
  facts.python["macos"] = "13.7";
  EXPECT_EQ(state_of(facts, "macOS"), GateState::kRed);
}

TEST(DoctorGates, MinimaOfPythonAndTorch) {
  DoctorFacts facts = good_mac();
  facts.python["version"] = "3.9.18";
  EXPECT_EQ(state_of(facts, "python"), GateState::kRed);
  facts.python["wheel"]["requires_python"] = ">=3.9";
  EXPECT_EQ(state_of(facts, "python"), GateState::kGreen);
  facts = good_mac();
  facts.python["torch"]["version"] = "1.13.1";
  EXPECT_EQ(state_of(facts, "torch"), GateState::kRed);
  facts.python.erase("torch");
  facts.python["torch_error"] = "ImportError: broken";
  EXPECT_EQ(gate_of(facts, "torch").value, "ImportError: broken");
  EXPECT_EQ(state_of(facts, "torch"), GateState::kRed);
}

TEST(DoctorGates, ANightlyIsYellow) {
  for (const char* version : {"2.14.0.dev20261101", "2.14.0a0+git1234", "2.14.0+nightly"}) {
    DoctorFacts facts = good_mac();
    facts.python["torch"]["version"] = version;
    EXPECT_EQ(state_of(facts, "torch"), GateState::kYellow) << version;
  }
  DoctorFacts facts = good_mac();
  facts.python["torch"]["debug"] = true;
  EXPECT_EQ(state_of(facts, "torch"), GateState::kYellow);
}

TEST(DoctorGates, TheWheelMustFit) {
  DoctorFacts facts = good_mac();
  facts.python["wheel"]["tags"] = {"cp312-cp312-macosx_11_0_x86_64"};
  EXPECT_EQ(state_of(facts, "wheel"), GateState::kRed);
  facts.python["wheel"]["tags"] = {"cp312-cp312-macosx_11_0_universal2"};
  EXPECT_EQ(state_of(facts, "wheel"), GateState::kGreen);
  facts.python["wheel"]["url"] = "file:///tmp/torch.whl";
  EXPECT_EQ(state_of(facts, "wheel"), GateState::kYellow);
  facts = good_mac();
  facts.python["wheel"]["version"] = "2.12.0";
  EXPECT_EQ(state_of(facts, "wheel"), GateState::kYellow);
  facts.python["wheel"] = {{"error", "PackageNotFoundError: torch"}};
  EXPECT_EQ(state_of(facts, "wheel"), GateState::kYellow);
}

TEST(DoctorGates, TheDeviceMustBeThereAndRight) {
  DoctorFacts facts = good_mac();
  facts.python["mps"] = {{"built", false}, {"available", false}};
  facts.python.erase("product");
  EXPECT_EQ(state_of(facts, "is_built"), GateState::kRed);
  EXPECT_EQ(state_of(facts, "is_available"), GateState::kRed);
  EXPECT_EQ(state_of(facts, "matmul"), GateState::kRed);
  facts = good_mac();
  facts.python["product"]["device"] = "cpu";
  EXPECT_EQ(state_of(facts, "matmul"), GateState::kRed);
  facts = good_mac();
  facts.python["product"]["difference"] = 0.5;
  EXPECT_EQ(state_of(facts, "matmul"), GateState::kRed);
  facts.python["product"]["difference"] = nullptr;  // not a number, which JSON cannot say
  EXPECT_EQ(state_of(facts, "matmul"), GateState::kRed);
  facts.python["product"] = {{"error", "RuntimeError: no kernel"}};
  EXPECT_EQ(state_of(facts, "matmul"), GateState::kRed);
  EXPECT_NE(gate_of(good_linux(), "is_available").value.find("simulated"), std::string::npos);
  EXPECT_EQ(gate_of(good_mac(), "is_available").value, "True: Apple M2");
}

TEST(DoctorGates, VariablesAreShownAndTheDoubtfulNamed) {
  DoctorFacts facts = good_mac();
  facts.variables = {{"OMP_NUM_THREADS", "8"}, {"PYTORCH_ENABLE_MPS_FALLBACK", "0"}};
  EXPECT_EQ(gate_of(facts, "environment variables").value, "OMP_NUM_THREADS=8 PYTORCH_ENABLE_MPS_FALLBACK=0");
  EXPECT_EQ(state_of(facts, "environment variables"), GateState::kGreen);
  facts.variables[1].second = "1";
  EXPECT_EQ(state_of(facts, "environment variables"), GateState::kYellow);
  facts.variables = {{"PYTORCH_MPS_HIGH_WATERMARK_RATIO", "0.0"}};
  EXPECT_NE(gate_of(facts, "environment variables").why.find("no limit"), std::string::npos);
}

TEST(DoctorGates, Threads) {
  DoctorFacts facts = good_mac();
  facts.python["threads"]["operators"] = 16;
  EXPECT_EQ(state_of(facts, "threads"), GateState::kYellow);
  facts.python["threads"]["operators"] = 1;
  EXPECT_EQ(state_of(facts, "threads"), GateState::kYellow);
  facts = good_mac();
  facts.variables = {{"MKL_NUM_THREADS", "2"}, {"OMP_NUM_THREADS", "8"}};
  EXPECT_EQ(state_of(facts, "threads"), GateState::kYellow);
  facts.variables[0].second = "8";
  EXPECT_EQ(state_of(facts, "threads"), GateState::kGreen);
}

TEST(DoctorGates, Injections) {
  DoctorFacts facts = good_mac();
  facts.python["injections"] = {{"code", {"/venv/distutils-precedence.pth"}}};
  EXPECT_EQ(state_of(facts, "injections"), GateState::kGreen);
  for (const char* key : {"pythonpath", "folders", "customize", "code"}) {
    facts.python["injections"] = {{key, {"/somewhere/else"}}};
    EXPECT_EQ(state_of(facts, "injections"), GateState::kYellow) << key;
    EXPECT_NE(gate_of(facts, "injections").value.find("/somewhere/else"), std::string::npos);
  }
}

TEST(DoctorGates, LimitsOfTheSystem) {
  DoctorFacts facts = good_mac();
  facts.descriptors = 256;  // a Mac's default
  EXPECT_EQ(state_of(facts, "file descriptors"), GateState::kYellow);
  facts.descriptors = 64;
  EXPECT_EQ(state_of(facts, "file descriptors"), GateState::kRed);
  facts.descriptors = UINT64_MAX;
  EXPECT_EQ(gate_of(facts, "file descriptors").value, "no limit");
  facts.memory_free = 3 * kGiB;
  EXPECT_EQ(state_of(facts, "memory"), GateState::kYellow);
  facts.memory_free = kGiB / 2;
  EXPECT_EQ(state_of(facts, "memory"), GateState::kRed);
  facts.swap = host::SwapState{8 * kGiB, 2 * kGiB};
  EXPECT_EQ(state_of(facts, "swap"), GateState::kYellow);
  facts.swap = host::SwapState{16 * kGiB, 12 * kGiB};
  EXPECT_EQ(state_of(facts, "swap"), GateState::kRed);
  facts.swap.reset();
  EXPECT_EQ(state_of(facts, "swap"), GateState::kGreen);
  facts.load = 6;
  EXPECT_EQ(state_of(facts, "load"), GateState::kYellow);
}

TEST(DoctorGates, StartMethod) {
  DoctorFacts facts = good_mac();
  facts.python["start_method"] = "fork";
  EXPECT_EQ(state_of(facts, "start method"), GateState::kYellow);
  EXPECT_NE(gate_of(good_linux(), "start method").why.find("spawn"), std::string::npos);
}

TEST(DoctorGates, CachesOnANetworkOrAFullDisk) {
  DoctorFacts facts = good_mac();
  facts.caches[0].type = "smbfs";
  facts.caches[0].network = true;
  EXPECT_EQ(state_of(facts, "caches"), GateState::kYellow);
  facts = good_mac();
  facts.caches[0].free_bytes = kGiB;
  EXPECT_EQ(state_of(facts, "caches"), GateState::kYellow);
}

TEST(DoctorGates, PowerAndHeat) {
  DoctorFacts facts = good_mac();
  facts.power = {false, true, 0.5};
  EXPECT_EQ(gate_of(facts, "power adapter").value, "on battery, 50%");
  EXPECT_EQ(state_of(facts, "power adapter"), GateState::kYellow);
  EXPECT_EQ(state_of(facts, "low-power mode"), GateState::kYellow);
  facts.thermal.speed_limit = 0.8;
  EXPECT_EQ(state_of(facts, "thermal state"), GateState::kYellow);
  facts.thermal.speed_limit = 0.4;
  EXPECT_EQ(state_of(facts, "thermal state"), GateState::kRed);
  facts.thermal = {98.0, 1.0, ""};
  EXPECT_EQ(state_of(facts, "thermal state"), GateState::kYellow);
  facts.power = {};
  facts.thermal = {};
  for (const char* name : {"power adapter", "low-power mode", "thermal state"}) {
    EXPECT_EQ(gate_of(facts, name).value, "the system does not tell");
  }
}

TEST(DoctorGates, AContainerIsExplained) {
  DoctorFacts facts = good_linux();
  facts.container = "docker";
  EXPECT_EQ(state_of(facts, "container"), GateState::kGreen);
  EXPECT_NE(gate_of(facts, "container").why.find("virtual machine"), std::string::npos);
  facts.machine.kernel = "Linux 6.10.14-linuxkit";
  EXPECT_EQ(state_of(facts, "container"), GateState::kYellow);
}

TEST(DoctorGates, APythonThatCrashesIsRed) {
  DoctorFacts facts = good_mac();
  facts.python = {{"error", "python ended with status 132 and no answer"}};
  EXPECT_EQ(state_of(facts, "python"), GateState::kRed);
  EXPECT_EQ(doctor_verdict(doctor_document(facts, false)), document::Verdict::kBad);
}

TEST(Doctor, RedIsBadAndYellowWhereItIsStrict) {
  EXPECT_EQ(doctor_verdict(doctor_document(good_mac(), true)), document::Verdict::kGood);
  DoctorFacts facts = good_mac();
  facts.power.on_mains = false;
  EXPECT_EQ(doctor_verdict(doctor_document(facts, false)), document::Verdict::kGood);
  EXPECT_EQ(doctor_verdict(doctor_document(facts, true)), document::Verdict::kBad);
  facts.memory_free = 0;
  EXPECT_EQ(doctor_verdict(doctor_document(facts, false)), document::Verdict::kBad);
}

TEST(Doctor, ADocumentComesBackFromItsJson) {
  DoctorFacts facts = good_mac();
  facts.power.on_mains = false;
  facts.memory_free = 0;
  DoctorDocument doctor = doctor_document(facts, true);
  doctor.head.verdict = doctor_verdict(doctor);
  const json written = document::to_json(doctor);
  EXPECT_EQ(written["gates"][0]["state"], "green");
  EXPECT_EQ(document::to_json(document::described_from<DoctorDocument>(written)), written);
  EXPECT_EQ(doctor_headline(doctor).substr(0, 15), "1 red, 1 yellow");
}

TEST(Doctor, WhatIsToBeDoneComesFirst) {
  DoctorFacts facts = good_mac();
  facts.power.on_mains = false;
  facts.memory_free = 0;
  const std::string section = doctor_section({{.document = doctor_document(facts, false), .label = "run 1"}});
  const std::size_t table = section.find("<table");
  ASSERT_NE(table, std::string::npos);
  EXPECT_TRUE(has(section.substr(0, table), "<li><b>memory:</b>"));
  EXPECT_LT(section.find(">memory<", table), section.find(">power adapter<", table));
  EXPECT_LT(section.find(">power adapter<", table), section.find(">interpreter architecture<", table));
}

}  // namespace
}  // namespace anymps::lab::runbook::doctor
