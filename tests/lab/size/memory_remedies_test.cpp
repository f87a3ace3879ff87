#include "lab/size/memory_remedies.h"

#include <gtest/gtest.h>

#include "lab/gibibyte.h"

namespace anymps::lab::size {
namespace {

trace::RunSummary run_out_of_memory() {
  trace::RunSummary run;
  run.command = {"python", "train.py", "--batch-size", "64"};
  run.memory = {5 * kGiB, 6 * kGiB, 8 * kGiB, 9 * kGiB};
  run.out_of_memory = {{"", "train.py:9", 1}};
  return run;
}

std::string remedies_for(const trace::RunSummary& run) {
  return memory_remedies(run, SimulatedMac::of({gpu::history::find_mac("m2-8gb"), {14, 5}}), {80, false});
}

TEST(MemoryRemedies, AreSilentWhenMemorySufficed) {
  trace::RunSummary run = run_out_of_memory();
  run.out_of_memory.clear();
  EXPECT_EQ(remedies_for(run), "");
}

TEST(MemoryRemedies, CarryTheFiguresOfTheRun) {
  const std::string text = remedies_for(run_out_of_memory());
  std::string flat = text;
  for (std::size_t at; (at = flat.find("\n   ")) != std::string::npos;) flat.replace(at, 4, " ");
  for (const char* part :
       {"asked for 64; try 32", "stood at 9.0 GiB", "is 5.3 GiB", "3.0 GiB was held beyond the 5.0 GiB",
        "shares 8.0 GiB", "PYTORCH_MPS_HIGH_WATERMARK_RATIO", "torch.mps.empty_cache()"}) {
    EXPECT_NE(flat.find(part), std::string::npos) << part << "\n" << text;
  }
  for (const char* number : {"1. ", "\n2. ", "\n3. ", "\n4. "}) EXPECT_NE(text.find(number), std::string::npos);
}

TEST(MemoryRemedies, ABufferThatIsTooLargeIsAnotherMatter) {
  trace::RunSummary run = run_out_of_memory();
  run.out_of_memory.clear();
  run.too_large = {{"", "train.py:9", 1}};
  run.memory.largest_buffer_bytes = 5 * kGiB;
  const std::string text = remedies_for(run);
  for (const char* part : {"A buffer of 5.0 GiB is too large for m2-8gb.", "try 32", "m2-8gb allows 4.0 GiB"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  }
}

TEST(MemoryRemedies, WithoutAChosenMacThisMachineIsTheMac) {
  const std::string text = memory_remedies(run_out_of_memory(), SimulatedMac::of({}), {80, false});
  EXPECT_EQ(text.rfind("Out of memory on a Mac of this machine's size.", 0), 0U) << text;
}

TEST(MemoryRemedies, LinesFitTheTerminal) {
  const std::string text = remedies_for(run_out_of_memory());
  for (std::size_t begin = 0, end; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1) {
    EXPECT_LE(end - begin, 80U) << text.substr(begin, end - begin);
  }
}

TEST(MemoryRemedies, TheBatchIsReadFromTheCommand) {
  EXPECT_EQ(batch_in({"train.py", "--batch_size=16"}), 16U);
  EXPECT_EQ(batch_in({"train.py", "--bs", "4"}), 4U);
  EXPECT_EQ(batch_in({"train.py", "--batch-size", "many"}), 0U);
  EXPECT_EQ(batch_in({"train.py", "--batch-size"}), 0U);
  EXPECT_EQ(batch_in({"train.py"}), 0U);
}

}  // namespace
}  // namespace anymps::lab::size
