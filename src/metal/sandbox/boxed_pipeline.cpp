#include "metal/sandbox/boxed_pipeline.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

#include "gpu/support/round_up.h"
#include "gpu/support/whole_number.h"
#include "metal/air/argument_access.h"
#include "metal/pipeline/kernel_error.h"
#include "metal/runtime/reports.h"
#include "metal/sandbox/box.h"
#include "metal/sandbox/messages.h"

namespace anymps::metal::sandbox {
namespace {

using pipeline::KernelError;

// A compiler's bounds are wide: nobody waits for a kernel of many thousand lines.
constexpr std::chrono::seconds kMostCompiling{600};
constexpr std::chrono::seconds kMostRunning{60};
constexpr const char* kSandboxSeconds = "ANYMPS_SANDBOX_SECONDS";
// Bytes keep their place in a line and a page's part, which alignments are about.
constexpr std::uintptr_t kPlaces = 256;

std::chrono::seconds most_running(const std::string& kernel) {
  const char* variable = std::getenv(kSandboxSeconds);
  if (variable == nullptr || *variable == '\0') return kMostRunning;
  const auto seconds = gpu::support::whole_number<std::uint32_t>(variable);
  if (seconds && *seconds != 0) return std::chrono::seconds(*seconds);
  throw KernelError(kernel + ": " + kSandboxSeconds + " takes a whole number above 0, not " + variable);
}

bool has_pointer(const std::vector<air::Member>& members) {
  return std::ranges::any_of(members, [](const air::Member& member) {
    return member.type_name.find('*') != std::string::npos || has_pointer(member.members);
  });
}

// An argument buffer, an array of pointers, or a struct with one.
bool holds_addresses(const air::Argument& argument) {
  return argument.kind == air::ArgumentKind::kIndirectBuffer ||
         (air::is_bound(argument.kind) &&
          (argument.type_name.find('*') != std::string::npos || has_pointer(argument.members)));
}

// Memory that bindings share, from the first byte of the first to the last of the last.
struct Region {
  std::byte* begin = nullptr;
  std::byte* end = nullptr;
  bool written = false;      // the kernel may
  std::uint64_t offset = 0;  // in the shared memory

  std::size_t size() const { return static_cast<std::size_t>(end - begin); }
};

class BoxedPipeline final : public pipeline::Pipeline {
 public:
  BoxedPipeline(const library::FunctionEntry& function, const abi::ConstantValues& constants, const std::string& engine)
      : name_(function.name) {
    make_.name = function.name;
    make_.bitcode.assign(reinterpret_cast<const char*>(function.bitcode.data()), function.bitcode.size());
    make_.engine = engine;
    make_.constants = constants;
    Box& box = Box::of_process();
    const auto lock = box.lock();
    Answer made = make_in(box);
    route_ = made.route;
    signature_ = std::move(made.signature);
    for (const air::Argument& argument : signature_.arguments) {
      if (argument.unused || !holds_addresses(argument)) continue;
      box.drop(child_, pipeline_);
      throw KernelError(name_ + ": argument " + std::to_string(argument.binding) + " (" + argument.name +
                        ") holds addresses of buffers, which lead nowhere in a sandbox (ANYMPS_SANDBOX)");
    }
  }
  ~BoxedPipeline() override { Box::of_process().drop(child_, pipeline_); }
  BoxedPipeline(const BoxedPipeline&) = delete;
  BoxedPipeline& operator=(const BoxedPipeline&) = delete;

  const air::Signature& signature() const override { return signature_; }
  abi::Route route() const override { return route_; }

  void launch(const pipeline::Launch& launch, pipeline::Size threads, pipeline::Size group) override {
    check_launch(threads, group);
    const std::chrono::seconds most = most_running(name_);
    std::vector<Region> regions = regions_of(launch);
    std::uint64_t bytes = 0;
    for (Region& region : regions) {
      const std::uintptr_t place = reinterpret_cast<std::uintptr_t>(region.begin) % kPlaces;
      region.offset = gpu::support::round_up(bytes, kPlaces) + place;
      bytes = region.offset + region.size();
    }
    LaunchRequest request;
    request.threads = threads;
    request.group = group;
    request.validate = launch.validate;
    request.by_value = launch.by_value;
    request.threadgroup_bytes = launch.threadgroup_bytes;
    for (unsigned i = 0; i < air::kMaxBindings; ++i) {
      if (launch.buffers[i] != nullptr) request.buffers.push_back(shared(launch, i, regions));
    }

    Box& box = Box::of_process();
    const auto lock = box.lock();
    if (box.start(name_) != child_) make_in(box);
    request.pipeline = pipeline_;
    const std::span<std::byte> memory = box.memory(bytes, name_);
    request.memory_bytes = memory.size();
    for (const Region& region : regions) std::memcpy(memory.data() + region.offset, region.begin, region.size());
    Answer answer = box.ask({.dropped = {}, .make = std::nullopt, .launch = std::move(request)},
                            {.kernel = name_, .doing = "ran", .most = most, .variable = kSandboxSeconds});
    for (const Region& region : regions) {
      if (region.written) std::memcpy(region.begin, memory.data() + region.offset, region.size());
    }
    if (launch.reports == nullptr) return runtime::publish(std::move(answer.reports));
    std::ranges::move(answer.reports, std::back_inserter(*launch.reports));
  }

 private:
  // With the lock held.
  Answer make_in(Box& box) {
    const std::uint64_t child = box.start(name_);
    Answer made = box.ask({.dropped = {}, .make = make_, .launch = std::nullopt},
                          {.kernel = name_, .doing = "was compiled", .most = kMostCompiling, .variable = ""});
    child_ = child;
    pipeline_ = made.pipeline;
    return made;
  }

  bool may_write(unsigned binding) const {
    return std::ranges::any_of(signature_.arguments, [&](const air::Argument& argument) {
      return argument.kind == air::ArgumentKind::kBuffer && binding - argument.binding < argument.count &&
             air::may_be_written(argument);
    });
  }

  std::vector<Region> regions_of(const pipeline::Launch& launch) const {
    std::vector<Region> regions;
    for (unsigned i = 0; i < air::kMaxBindings; ++i) {
      if (launch.buffers[i] == nullptr) continue;
      if (launch.buffer_bytes[i] == 0) {
        throw KernelError(name_ + ": how long the buffer of argument " + std::to_string(i) +
                          " is, is not known, and a sandbox (ANYMPS_SANDBOX) has a copy of it");
      }
      auto* begin = static_cast<std::byte*>(launch.buffers[i]);
      regions.push_back({.begin = begin, .end = begin + launch.buffer_bytes[i], .written = may_write(i)});
    }
    std::ranges::sort(regions, {}, &Region::begin);
    std::vector<Region> merged;
    for (const Region& region : regions) {
      if (merged.empty() || region.begin >= merged.back().end) {
        merged.push_back(region);
      } else {
        merged.back().end = std::max(merged.back().end, region.end);
        merged.back().written |= region.written;
      }
    }
    return merged;
  }

  static SharedBuffer shared(const pipeline::Launch& launch, unsigned binding, const std::vector<Region>& regions) {
    const auto* begin = static_cast<const std::byte*>(launch.buffers[binding]);
    const auto behind = std::ranges::upper_bound(regions, begin, {}, &Region::begin);
    const Region& region = *std::prev(behind);
    return {.binding = binding,
            .offset = region.offset + static_cast<std::uint64_t>(begin - region.begin),
            .bytes = launch.buffer_bytes[binding]};
  }

  const std::string name_;
  MakeRequest make_;
  abi::Route route_ = abi::Route::kThreadLoop;
  air::Signature signature_;
  // Guarded by the box's lock: in which child it was made, as what.
  std::uint64_t child_ = 0;
  std::uint64_t pipeline_ = 0;
};

}  // namespace

bool wanted() {
  const char* variable = std::getenv("ANYMPS_SANDBOX");
  const std::string_view value = variable == nullptr ? "" : variable;
  return !value.empty() && value != "0";
}

std::shared_ptr<pipeline::Pipeline> make_boxed_pipeline(const library::FunctionEntry& function,
                                                        const abi::ConstantValues& constants,
                                                        const std::string& engine) {
  return std::make_shared<BoxedPipeline>(function, constants, engine);
}

}  // namespace anymps::metal::sandbox
