// The sanitiser while a kernel runs: generated code asks it before each access (lower/transform/sanitiser.h), and the
// scheduler tells it when threads have done a cooperative operation. A launch that is validated runs on one thread of
// the CPU, one threadgroup after the other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_set>
#include <vector>

#include "metal/air/signature.h"
#include "metal/pipeline/pipeline.h"
#include "metal/runtime/compiled_kernel.h"
#include "metal/runtime/scheduler.h"
#include "metal/runtime/shadow_memory.h"

namespace anymps::metal::runtime {

struct ValidatedLaunch {
  const air::Signature& signature;
  const CompiledKernel& kernel;
  const pipeline::Launch& launch;
  const abi::Geometry& geometry;
  std::span<void* const> bindings;  // as the kernel reads them
  std::byte* memory;                // the threadgroup's
  std::size_t memory_bytes;
};

class Validator final : public Watcher {
 public:
  // Of this thread until it is destroyed.
  explicit Validator(const ValidatedLaunch& launch);
  ~Validator() override;
  Validator(const Validator&) = delete;
  Validator& operator=(const Validator&) = delete;

  // Before each threadgroup; false where the launch is given up.
  bool begin(std::array<std::uint32_t, 3> group);
  // After the last.
  std::vector<pipeline::ValidationReport> finish();

  void met(std::uint32_t simdgroup, std::uint32_t mask) override;
  void opens(std::span<const abi::Simdgroup> simdgroups, std::uint32_t threads) override;

  // What generated code calls.
  static void* access_hook(void* address, std::uint64_t bytes, std::uint32_t site, std::uint32_t thread);
  static void* outside_hook(std::uint64_t offset, std::uint64_t bytes, std::uint32_t site, std::uint32_t thread);
  static bool loop_hook(std::uint32_t site, std::uint32_t thread);
  static void fence_hook();

 private:
  struct Range {
    std::uintptr_t begin = 0;
    std::uintptr_t end = 0;
    bool holds(std::uintptr_t address, std::uint64_t bytes) const {
      return address >= begin && address <= end && bytes <= end - address;
    }
    // All words of which it has a byte.
    Range of_words() const;
  };
  struct Access {
    std::uintptr_t address;
    std::uint64_t bytes;
    std::uint32_t site;
    std::uint32_t thread;
  };
  // Two plain writes, of which the second has not happened yet: no race if it leaves what was there.
  struct Doubt {
    Access access;
    Conflict conflict;
    std::vector<std::byte> before;
  };

  struct alignas(64) Line {
    std::array<std::byte, 64> bytes;
  };

  Range range_of(const lower::transform::ValidationObject& object) const;
  void find_tracked();
  void* access(const Access& access);
  void* outside(std::int64_t offset, const Access& access);
  bool loop(std::uint32_t site, std::uint32_t thread);
  bool is_inside(const Access& access) const;
  bool is_device_memory(const Access& access) const;
  void check_race(const Access& access);
  void check_initialised(const Access& access);
  void settle_doubt();
  void* instead(const Access& access);

  const lower::transform::ValidationSite& site_of(const Access& access) const { return table_.sites[access.site]; }
  Stamp stamp_of(const Access& access) const;
  std::optional<std::uint32_t> object_at(const Access& access) const;
  // The report of this fault at this place, if it is the first.
  pipeline::ValidationReport* add(pipeline::Fault fault, std::uint32_t site, std::uint32_t thread);
  void add(pipeline::Fault fault, const Access& access, const std::string& consequence);
  void add_race(const Access& access, const Conflict& conflict);
  void describe_argument(pipeline::ValidationReport& report, const Access& access) const;
  // The report's bytes and offset, of something of that size.
  static void describe_place(pipeline::ValidationReport& report, const std::string& what,
                             std::optional<std::uint64_t> size);
  std::array<std::uint32_t, 3> position_of(std::uint32_t thread, std::array<std::uint32_t, 3> group) const;
  std::string where(std::uint32_t site, std::uint32_t thread, std::array<std::uint32_t, 3> group) const;

  const ValidatedLaunch launch_;
  const lower::transform::ValidationTable& table_;
  const std::uint64_t loop_limit_;
  const bool strict_;
  std::vector<Range> ranges_;  // by object
  std::vector<bool> tracked_;  // by site: whether its memory may be written while it is read
  Shadow device_{false};
  Shadow threadgroup_{true};
  std::vector<std::uint8_t> initialised_;  // of the threadgroup's memory, by byte

  std::array<std::uint32_t, 3> group_{};
  std::uint32_t group_number_ = 0;            // 1 for the first
  std::unordered_set<std::uint32_t> fenced_;  // threadgroups that have passed a fence
  std::uint32_t device_epoch_ = 0;
  std::uint32_t threadgroup_epoch_ = 0;
  std::array<std::uint32_t, abi::kMostThreads / abi::kLanes> cooperative_ops_{};  // of each simdgroup
  std::array<std::uint32_t, abi::kMostThreads> clocks_{};      // the last cooperative operation of a thread
  std::array<std::uint64_t, abi::kMostThreads> iterations_{};  // of its loops
  std::array<bool, abi::kMostThreads> took_part_{};            // it wrote, or met others
  bool given_up_ = false;

  std::optional<Doubt> doubt_;
  std::vector<Line> zeros_;
  std::vector<Line> sink_;
  std::vector<pipeline::ValidationReport> reports_;
};

}  // namespace anymps::metal::runtime
