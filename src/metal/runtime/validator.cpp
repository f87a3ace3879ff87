#include "metal/runtime/validator.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "metal/abi/binding_slots.h"
#include "metal/runtime/reports.h"

namespace anymps::metal::runtime {
namespace {

using lower::transform::ValidationObject;
using lower::transform::ValidationSite;
using Kind = ValidationSite::Kind;
using Position = std::array<std::uint32_t, 3>;

// Iterations of all loops of one thread. A Mac gives up on a command after seconds.
constexpr std::uint64_t kLoopLimit = std::uint64_t{1} << 24;
// Below lies no memory that an address can lead to.
constexpr std::uintptr_t kLowest = 65536;

thread_local Validator* current = nullptr;

std::uint64_t loop_limit() {
  const char* variable = std::getenv("ANYMPS_VALIDATE_LOOPS");
  const std::uint64_t limit = variable == nullptr ? 0 : std::strtoull(variable, nullptr, 10);
  return limit == 0 ? kLoopLimit : limit;
}

bool is_atomic(Kind kind) { return kind == Kind::kAtomic || kind == Kind::kAtomicLoad || kind == Kind::kAtomicStore; }
bool writes(Kind kind) { return kind == Kind::kStore || kind == Kind::kAtomic || kind == Kind::kAtomicStore; }
bool reads(Kind kind) { return kind != Kind::kStore && kind != Kind::kAtomicStore; }

std::string_view access_name(Kind kind) {
  switch (kind) {
    case Kind::kLoad:
      return "load";
    case Kind::kStore:
      return "store";
    case Kind::kAtomic:
      return "atomic";
    case Kind::kAtomicLoad:
      return "atomic load";
    case Kind::kAtomicStore:
      return "atomic store";
    case Kind::kCooperative:
      return "barrier";
    case Kind::kLoop:
      return "loop";
  }
  return "";
}

std::string position_text(const Position& position) {
  return "(" + std::to_string(position[0]) + ", " + std::to_string(position[1]) + ", " + std::to_string(position[2]) +
         ")";
}

std::string consequence(Kind kind) {
  if (!reads(kind)) return "the store was dropped";
  return writes(kind) ? "it was dropped, and gave 0" : "it gave 0";
}

}  // namespace

Validator::Validator(const ValidatedLaunch& launch)
    : launch_(launch),
      table_(launch.kernel.validation),
      loop_limit_(loop_limit()),
      strict_(validation_strict()),
      initialised_(launch.memory_bytes) {
  for (const ValidationObject& object : table_.objects) ranges_.push_back(range_of(object));
  find_tracked();
  current = this;
}

Validator::~Validator() { current = nullptr; }

Validator::Range Validator::Range::of_words() const {
  constexpr std::uintptr_t kWord = 4;
  if (end == UINTPTR_MAX) return *this;
  return {begin & ~(kWord - 1), (end + kWord - 1) & ~(kWord - 1)};
}

Validator::Range Validator::range_of(const ValidationObject& object) const {
  const auto memory = reinterpret_cast<std::uintptr_t>(launch_.memory);
  if (object.kind == ValidationObject::Kind::kThreadgroupVariable) {
    return {memory + object.offset, memory + object.offset + object.size};
  }
  if (object.kind == ValidationObject::Kind::kOwn) return {};  // every thread's lies elsewhere
  const unsigned binding = launch_.signature.arguments[object.parameter].binding;
  if (object.kind == ValidationObject::Kind::kThreadgroupBuffer) {
    const auto offset = reinterpret_cast<std::uintptr_t>(
        launch_.bindings[abi::slot_of(air::ArgumentKind::kThreadgroupBuffer, binding)]);
    return {memory + offset, memory + offset + launch_.launch.threadgroup_bytes[binding]};
  }
  const auto begin = reinterpret_cast<std::uintptr_t>(launch_.launch.buffers[binding]);
  const std::size_t bytes = launch_.launch.buffer_bytes[binding];
  if (begin != 0 && bytes == 0) return {begin, UINTPTR_MAX};
  return {begin, begin + bytes};
}

// What no thread writes need not be watched while it is read: most of what kernels read.
void Validator::find_tracked() {
  std::vector<Range> written;
  for (const ValidationSite& site : table_.sites) {
    if (site.threadgroup || !writes(site.kind)) continue;
    if (site.objects.empty()) written.push_back({0, UINTPTR_MAX});
    for (const std::uint32_t object : site.objects) written.push_back(ranges_[object]);
  }
  const auto is_written = [&](std::uint32_t object) {
    const Range& range = ranges_[object];
    return std::ranges::any_of(written, [&](const Range& w) { return range.begin < w.end && w.begin < range.end; });
  };
  for (const ValidationSite& site : table_.sites) {
    tracked_.push_back(site.threadgroup || writes(site.kind) || site.objects.empty() ||
                       std::ranges::any_of(site.objects, is_written));
  }
}

bool Validator::begin(Position group) {
  settle_doubt();
  if (given_up_) return false;
  group_ = group;
  ++group_number_;
  std::ranges::fill(initialised_, 0);
  for (const auto& [offset, size] : launch_.kernel.threadgroup.cleared) {
    std::fill_n(initialised_.begin() + static_cast<std::ptrdiff_t>(offset), size, 1);
  }
  iterations_.fill(0);
  took_part_.fill(false);
  return true;
}

std::vector<pipeline::ValidationReport> Validator::finish() {
  settle_doubt();
  for (pipeline::ValidationReport& report : reports_) {
    if (report.count > 1) report.text += "  seen " + std::to_string(report.count) + " times in this launch\n";
  }
  return std::move(reports_);
}

void Validator::met(std::uint32_t simdgroup, std::uint32_t mask) {
  settle_doubt();
  const std::uint32_t clock = ++cooperative_ops_[simdgroup];
  for (unsigned lane = 0; lane < abi::kLanes; ++lane) {
    if (((mask >> lane) & 1) == 0) continue;
    clocks_[simdgroup * abi::kLanes + lane] = clock;
    took_part_[simdgroup * abi::kLanes + lane] = true;
  }
}

void Validator::opens(std::span<const abi::Simdgroup> simdgroups, std::uint32_t threads) {
  const auto waits = [&](std::uint32_t thread) { return simdgroups[thread / abi::kLanes].waits[thread % abi::kLanes]; };
  std::uint32_t first = 0;
  while (waits(first) == 0) ++first;
  const std::uint32_t point = waits(first) - 1;
  std::uint8_t memory = 0;
  std::uint32_t missing = 0;
  std::uint32_t astray = threads;
  for (std::uint32_t thread = 0; thread < threads; ++thread) {
    if (waits(thread) != 0) memory |= launch_.kernel.points[waits(thread) - 1].memory;
    if (waits(thread) == point + 1) continue;
    // Kernels send threads that have nothing to do home before the first barrier, and GPUs do not wait for those.
    if (waits(thread) == 0 && !took_part_[thread] && !strict_) continue;
    ++missing;
    astray = std::min(astray, thread);
  }
  if (missing != 0 && !given_up_) {
    if (pipeline::ValidationReport* report = add(pipeline::Fault::kDivergentBarrier, point, first)) {
      report->text += "  " + std::to_string(missing) + " of the " + std::to_string(threads) +
                      " threads of the threadgroup are not at this barrier\n";
      report->text += waits(astray) == 0 ? "  thread " + position_text(position_of(astray, group_)) + " has ended\n"
                                         : "  another waits at " + where(waits(astray) - 1, astray, group_) + "\n";
    }
  }
  // Every thread that is at a barrier is past what it did before, whatever memory the barrier is for: lanes of a
  // simdgroup go together.
  for (std::uint32_t simdgroup = 0; simdgroup < simdgroups.size(); ++simdgroup) {
    std::uint32_t mask = 0;
    for (unsigned lane = 0; lane < abi::kLanes; ++lane) {
      mask |= static_cast<std::uint32_t>(simdgroups[simdgroup].waits[lane] != 0) << lane;
    }
    met(simdgroup, mask);
  }
  if (!strict_ && memory != 0) memory = abi::kAllMemory;
  if ((memory & abi::kDeviceMemory) != 0) ++device_epoch_;
  if ((memory & abi::kThreadgroupMemory) != 0) ++threadgroup_epoch_;
}

void* Validator::access_hook(void* address, std::uint64_t bytes, std::uint32_t site, std::uint32_t thread) {
  return current->access({reinterpret_cast<std::uintptr_t>(address), bytes, site, thread});
}

void* Validator::outside_hook(std::uint64_t offset, std::uint64_t bytes, std::uint32_t site, std::uint32_t thread) {
  return current->outside(static_cast<std::int64_t>(offset), {0, bytes, site, thread});
}

bool Validator::loop_hook(std::uint32_t site, std::uint32_t thread) { return current->loop(site, thread); }

void Validator::fence_hook() { current->fenced_.insert(current->group_number_); }

void* Validator::access(const Access& access) {
  settle_doubt();
  const ValidationSite& site = site_of(access);
  if (access.bytes == 0) return reinterpret_cast<void*>(access.address);
  if (!is_inside(access)) {
    add(pipeline::Fault::kOutOfBounds, access, consequence(site.kind));
    return instead(access);
  }
  if (const std::uint32_t alignment = strict_ ? site.alignment : site.element; access.address % alignment != 0) {
    const bool done = !is_atomic(site.kind);
    add(pipeline::Fault::kMisaligned, access,
        "it must lie at a multiple of " + std::to_string(alignment) + " bytes; " +
            (done ? "it was done all the same" : consequence(site.kind)));
    if (!done) return instead(access);
  }
  took_part_[access.thread] |= writes(site.kind);
  if (site.threadgroup) check_initialised(access);
  if (tracked_[access.site]) check_race(access);
  return reinterpret_cast<void*>(access.address);
}

void* Validator::outside(std::int64_t offset, const Access& access) {
  settle_doubt();
  if (access.bytes == 0 || given_up_) return instead(access);
  pipeline::ValidationReport* report = add(pipeline::Fault::kOutOfBounds, access.site, access.thread);
  if (report == nullptr) return instead(access);
  const ValidationObject& variable = table_.objects[site_of(access).objects.front()];
  report->argument = variable.name;
  report->size = access.bytes;
  report->offset = offset;
  describe_place(*report, "variable " + (variable.name.empty() ? "of the thread" : variable.name), variable.size);
  report->text += "  " + consequence(site_of(access).kind) + "\n";
  return instead(access);
}

bool Validator::loop(std::uint32_t site, std::uint32_t thread) {
  if (given_up_) return true;
  if (++iterations_[thread] <= loop_limit_) return false;
  if (pipeline::ValidationReport* report = add(pipeline::Fault::kEndlessLoop, site, thread)) {
    report->text += "  after " + std::to_string(loop_limit_) +
                    " iterations of its loops; the launch was given up (ANYMPS_VALIDATE_LOOPS sets the limit)\n";
  }
  given_up_ = true;
  return true;
}

bool Validator::is_inside(const Access& access) const {
  const ValidationSite& site = site_of(access);
  if (!site.objects.empty()) {
    // Atomics of smaller types are made of those of words, which may reach over the end of the last word.
    return std::ranges::any_of(site.objects, [&](std::uint32_t object) {
      const Range& range = ranges_[object];
      return range.holds(access.address, access.bytes) ||
             (is_atomic(site.kind) && range.of_words().holds(access.address, access.bytes));
    });
  }
  if (!site.threadgroup) return is_device_memory(access);
  const auto memory = reinterpret_cast<std::uintptr_t>(launch_.memory);
  return Range{memory, memory + launch_.memory_bytes}.holds(access.address, access.bytes);
}

bool Validator::is_device_memory(const Access& access) const {
  if (access.address < kLowest) return false;
  const auto known = launch_.launch.is_device_memory;
  if (known == nullptr) return true;
  return known(reinterpret_cast<const void*>(access.address)) &&
         known(reinterpret_cast<const void*>(access.address + access.bytes - 1));
}

void Validator::check_initialised(const Access& access) {
  const auto offset = static_cast<std::ptrdiff_t>(access.address - reinterpret_cast<std::uintptr_t>(launch_.memory));
  const std::span touched(initialised_.begin() + offset, access.bytes);
  if (reads(site_of(access).kind) && std::ranges::find(touched, 0) != touched.end()) {
    add(pipeline::Fault::kUninitialised, access, "no thread of this threadgroup has written there before");
  }
  if (writes(site_of(access).kind)) std::ranges::fill(touched, 1);
}

Stamp Validator::stamp_of(const Access& access) const {
  const ValidationSite& site = site_of(access);
  return {.group = group_number_,
          .thread = access.thread,
          .atomic = is_atomic(site.kind),
          .site = access.site,
          .epoch = site.threadgroup ? threadgroup_epoch_ : device_epoch_,
          .clock = clocks_[access.thread]};
}

void Validator::check_race(const Access& access) {
  const ValidationSite& site = site_of(access);
  Shadow& shadow = site.threadgroup ? threadgroup_ : device_;
  const Stamp now = stamp_of(access);
  const auto conflict = writes(site.kind) ? shadow.write(access.address, access.bytes, now)
                                          : shadow.read(access.address, access.bytes, now);
  if (!conflict) return;
  // What fences order depends on values that atomics pass on, which are not followed here: threadgroups that both have
  // passed one are trusted.
  if (conflict->earlier.group != now.group && fenced_.contains(conflict->earlier.group) &&
      fenced_.contains(now.group)) {
    return;
  }
  if (conflict->earlier_writes && site.kind == Kind::kStore && conflict->earlier.atomic == 0) {
    const auto* begin = reinterpret_cast<const std::byte*>(conflict->begin);
    doubt_ = {access, *conflict, {begin, begin + (conflict->end - conflict->begin)}};
  } else {
    add_race(access, *conflict);
  }
}

void Validator::settle_doubt() {
  if (!doubt_) return;
  const Doubt& doubt = *doubt_;
  if (std::memcmp(reinterpret_cast<const void*>(doubt.conflict.begin), doubt.before.data(), doubt.before.size()) != 0) {
    add_race(doubt.access, doubt.conflict);
  }
  doubt_.reset();
}

void* Validator::instead(const Access& access) {
  const bool load = !writes(site_of(access).kind);
  std::vector<Line>& lines = load ? zeros_ : sink_;
  const std::size_t needed = (access.bytes + sizeof(Line) - 1) / sizeof(Line);
  if (load) {
    if (lines.size() < needed) lines.resize(needed);
  } else {
    lines.assign(needed, Line{});
  }
  return lines.data();
}

std::optional<std::uint32_t> Validator::object_at(const Access& access) const {
  const ValidationSite& site = site_of(access);
  std::optional<std::uint32_t> nearest;
  std::uintptr_t least = UINTPTR_MAX;
  const auto consider = [&](std::uint32_t object) {
    const Range& range = ranges_[object];
    const std::uintptr_t distance = access.address < range.begin ? range.begin - access.address
                                    : access.address > range.end ? access.address - range.end
                                                                 : 0;
    if (nearest && distance >= least) return;
    nearest = object;
    least = distance;
  };
  if (!site.objects.empty()) {
    std::ranges::for_each(site.objects, consider);
    return nearest;
  }
  for (std::uint32_t object = 0; object < ranges_.size(); ++object) {
    const bool shared = table_.objects[object].kind != ValidationObject::Kind::kBuffer;
    if (shared == site.threadgroup && ranges_[object].holds(access.address, access.bytes)) return object;
  }
  return std::nullopt;
}

pipeline::ValidationReport* Validator::add(pipeline::Fault fault, std::uint32_t site, std::uint32_t thread) {
  for (pipeline::ValidationReport& report : reports_) {
    if (report.fault != fault || report.site != site) continue;
    ++report.count;
    return nullptr;
  }
  pipeline::ValidationReport& report = reports_.emplace_back();
  report.fault = fault;
  report.kernel = launch_.signature.kernel;
  report.access = access_name(table_.sites[site].kind);
  report.thread = position_of(thread, group_);
  report.threadgroup = group_;
  report.site = site;
  report.place = table_.sites[site].place;
  report.text = "anymps validation: kernel " + report.kernel + ": " + std::string(name_of(fault)) + "\n  " +
                report.access + " by " + where(site, thread, group_) + "\n";
  return &report;
}

void Validator::add(pipeline::Fault fault, const Access& access, const std::string& consequence) {
  if (given_up_) return;
  pipeline::ValidationReport* report = add(fault, access.site, access.thread);
  if (report == nullptr) return;
  describe_argument(*report, access);
  report->text += "  " + consequence + "\n";
}

void Validator::add_race(const Access& access, const Conflict& conflict) {
  if (given_up_) return;
  pipeline::ValidationReport* report = add(pipeline::Fault::kRace, access.site, access.thread);
  if (report == nullptr) return;
  describe_argument(*report, access);
  const Stamp& earlier = conflict.earlier;
  report->text += "  nothing orders it after the " + std::string(access_name(table_.sites[earlier.site].kind)) +
                  " by " + where(earlier.site, earlier.thread, launch_.geometry.group_at(earlier.group - 1)) + "\n";
}

void Validator::describe_argument(pipeline::ValidationReport& report, const Access& access) const {
  report.size = access.bytes;
  const auto object = object_at(access);
  if (!object) {
    report.text += "  " + std::to_string(access.bytes) + " bytes of memory that no argument names\n";
    return;
  }
  const Range& range = ranges_[*object];
  const ValidationObject& at = table_.objects[*object];
  report.offset = static_cast<std::int64_t>(access.address - range.begin);
  std::string what = "threadgroup variable ";
  if (at.kind == ValidationObject::Kind::kThreadgroupVariable) {
    report.argument = at.name;
  } else {
    const air::Argument& argument = launch_.signature.arguments[at.parameter];
    report.argument = argument.name;
    report.binding = static_cast<int>(argument.binding);
    what = at.kind == ValidationObject::Kind::kBuffer ? "buffer " : "threadgroup buffer ";
    what += std::to_string(argument.binding) + ", ";
  }
  describe_place(report, what + report.argument,
                 range.end == UINTPTR_MAX ? std::nullopt : std::optional(range.end - range.begin));
}

void Validator::describe_place(pipeline::ValidationReport& report, const std::string& what,
                               std::optional<std::uint64_t> size) {
  report.text +=
      "  " + what + ": " + std::to_string(report.size) + " bytes at byte offset " + std::to_string(report.offset);
  if (size) report.text += " of " + std::to_string(*size);
  report.text += "\n";
}

Position Validator::position_of(std::uint32_t thread, Position group) const {
  Position position;
  for (unsigned i = 0; i < 3; ++i) {
    const std::uint32_t first = group[i] * launch_.geometry.threadgroup[i];
    const std::uint32_t size = std::min(launch_.geometry.threadgroup[i], launch_.geometry.grid[i] - first);
    position[i] = first + thread % size;
    thread /= size;
  }
  return position;
}

std::string Validator::where(std::uint32_t site, std::uint32_t thread, Position group) const {
  const std::string& place = table_.sites[site].place;
  return "thread " + position_text(position_of(thread, group)) + ", threadgroup " + position_text(group) + ", at " +
         (place.empty() ? "site " + std::to_string(site) : place);
}

}  // namespace anymps::metal::runtime
