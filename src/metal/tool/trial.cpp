#include "metal/tool/trial.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <set>
#include <span>

#include "metal/engine/compiler.h"
#include "metal/engine/make_pipeline.h"
#include "metal/pipeline/pipeline.h"
#include "metal/tool/argument_type.h"
#include "metal/tool/buffer_text.h"
#include "metal/tool/function_signature.h"

namespace anymps::metal::tool {
namespace {

constexpr std::size_t kFewestElements = 4096;
constexpr std::size_t kMostElements = std::size_t{1} << 19U;
constexpr std::size_t kUnknownBytes = std::size_t{1} << 20U;  // of a buffer whose type is not known
constexpr std::size_t kThreadgroupBytes = 16384;
constexpr std::uint32_t kMostCount = 69;      // loops over it must end in time
constexpr std::size_t kBeyond = 13;           // threads more than elements
constexpr const char* kLoopLimit = "300000";  // a number that is no length can keep a loop going

struct Grid {
  pipeline::Size threads;
  pipeline::Size group;
};

// By the axes of a thread's position. Shapes that differ much: a kernel may count on one that nothing tells.
const std::array<std::vector<Grid>, 3> kGrids = {{
    {{{64, 1, 1}, {32, 1, 1}}, {{69, 1, 1}, {64, 1, 1}}, {{512, 1, 1}, {256, 1, 1}}, {{1024, 1, 1}, {1024, 1, 1}}},
    {{{16, 16, 1}, {8, 8, 1}},
     {{19, 13, 1}, {16, 16, 1}},
     {{32, 4, 1}, {32, 2, 1}},
     {{1024, 2, 1}, {1024, 1, 1}},
     {{32, 32, 1}, {32, 32, 1}}},
    {{{8, 8, 8}, {4, 4, 4}},
     {{19, 13, 2}, {16, 16, 1}},
     {{32, 2, 2}, {32, 2, 1}},
     {{1024, 1, 2}, {1024, 1, 1}},
     {{32, 32, 1}, {32, 32, 1}}},
}};

unsigned axes_of(const air::Signature& signature) {
  unsigned axes = 1;
  for (const air::Argument& argument : signature.arguments) {
    if (air::is_bound(argument.kind) || argument.unused || argument.type_name.empty()) continue;
    const char last = argument.type_name.back();
    if (last == '2' || last == '3') axes = std::max(axes, static_cast<unsigned>(last - '0'));
  }
  return axes;
}

bool is_reference(const air::Argument& argument) { return argument.buffer_size != 0; }

bool is_whole(const std::optional<ElementType>& type) {
  return type && !is_floating(type->scalar) && type->scalar != Scalar::kBool;
}

// Whole numbers are `count`, others random.
AlignedBytes one_value(const ElementType& type, std::uint32_t count, std::uint64_t seed, std::uint64_t stream) {
  if (!is_whole(type)) return filled(Filling::kRandom, type, 1, seed, stream);
  const std::size_t size = size_of(type.scalar);
  std::vector<std::byte> scalars(type.width * size);
  for (unsigned i = 0; i < type.width; ++i) put_number(type.scalar, std::uint64_t{count}, scalars.data() + i * size);
  return AlignedBytes(lay_out(type, scalars));
}

void fill_struct(const std::vector<air::Member>& members, std::span<std::byte> bytes, std::uint32_t count,
                 unsigned stream) {
  for (const air::Member& member : members) {
    const std::size_t elements = std::max<std::size_t>(member.count, 1);
    if (member.size == 0 || member.offset > bytes.size() || (bytes.size() - member.offset) / member.size < elements) {
      continue;
    }
    const auto type = element_type(member.type_name);
    for (std::size_t i = 0; i < elements; ++i) {
      const std::span<std::byte> own = bytes.subspan(member.offset + i * member.size, member.size);
      if (!member.members.empty()) {
        fill_struct(member.members, own, count, stream);
      } else if (type) {
        AlignedBytes value = one_value(*type, count, i, stream);
        std::memcpy(own.data(), value.data(), std::min(own.size(), value.size()));
      }
    }
  }
}

std::string why_not(const air::Signature& signature) {
  for (const air::Argument& argument : signature.arguments) {
    if (!air::is_bound(argument.kind) || argument.unused) continue;
    if (argument.kind == air::ArgumentKind::kIndirectBuffer) return argument.name + " holds addresses of buffers";
    if (is_reference(argument) && !element_type_of(argument) && argument.members.empty()) {
      return argument.name + " is a struct (" + argument.type_name + "), whose members the library does not describe";
    }
  }
  return "";
}

class Trials {
 public:
  Trials(const library::FunctionEntry& function, const lint::Lints& lints) : signature_(read_signature(function)) {
    trial.not_tried = why_not(signature_);
    // Compiled in any case: that it can be is part of the check.
    lower::LoweringOptions options;
    options.validate = true;
    for (const air::FunctionConstant& constant : signature_.constants)
      options.constants[constant.id] = one_of(constant);
    pipeline_ = engine::make_pipeline(function, options);
    std::size_t numbers = 0;
    for (const air::Argument& argument : signature_.arguments) {
      // What is in a struct may be anything.
      if (is_reference(argument) && !argument.members.empty()) numbers += 2;
      if (!air::is_bound(argument.kind) || !is_whole(element_type_of(argument))) continue;
      const unsigned width = element_type_of(argument)->width;
      if (is_reference(argument)) numbers += width;
      trial.made_up = trial.made_up || (!is_reference(argument) && lints.loaded.contains(argument.parameter));
    }
    // A kernel that compares nothing is told so by its lint.
    knows_count_ = numbers == 1 && std::ranges::find(lints.findings, lint::kUnguardedIndex, &lint::Finding::lint) ==
                                       lints.findings.end();
    trial.made_up = trial.made_up || numbers > 1;
  }

  void run() {
    for (const Grid& grid : kGrids.at(axes_of(signature_) - 1)) {
      Grid launched = grid;
      limit(launched.group);
      const std::vector<pipeline::ValidationReport> reports = launch(launched);
      // A launch that was given up says nothing.
      if (std::ranges::find(reports, pipeline::Fault::kEndlessLoop, &pipeline::ValidationReport::fault) !=
          reports.end())
        continue;
      ++trial.launches;
      for (const pipeline::ValidationReport& report : reports) add(report, launched.group);
      if (std::ranges::none_of(reports, [&](const auto& report) { return is_beyond_threadgroup_memory(report); })) {
        most_within_ = std::max(most_within_, threads_of(launched.group));
      }
    }
    if (trial.launches == 0) trial.not_tried = "its loops do not end with numbers that are made up";
    for (TrialReport& found : trial.reports) found.always = found.launches == trial.launches;
    say_once_what_large_threadgroups_do();
    if (axes_of(signature_) == 1 && knows_count_) run_with_too_many_threads();
  }

  Trial trial;

 private:
  static std::uint64_t one_of(const air::FunctionConstant& constant) {
    const auto type = element_type(constant.type);
    std::uint64_t bits = 0;
    if (type && type->width == 1) put_number(type->scalar, std::uint64_t{1}, reinterpret_cast<std::byte*>(&bits));
    return bits;
  }

  static std::uint64_t threads_of(const pipeline::Size& group) { return std::uint64_t{group[0]} * group[1] * group[2]; }

  void add(const pipeline::ValidationReport& report, const pipeline::Size& group) {
    for (TrialReport& known : trial.reports) {
      if (known.report.fault != report.fault || known.report.site != report.site) continue;
      ++known.launches;
      known.fewest_threads = std::min(known.fewest_threads, threads_of(group));
      return;
    }
    trial.reports.push_back({.report = report,
                             .threadgroup = is_of_threadgroup(report),
                             .group = group,
                             .fewest_threads = threads_of(group)});
  }

  bool is_beyond_threadgroup_memory(const pipeline::ValidationReport& report) const {
    return report.fault == pipeline::Fault::kOutOfBounds && is_of_threadgroup(report);
  }

  // A kernel that is made for threadgroups of so many threads is correct, if nothing launches it with more. Metal has a
  // word for that.
  void say_once_what_large_threadgroups_do() {
    const auto is_of_large = [&](const TrialReport& found) {
      return is_beyond_threadgroup_memory(found.report) && most_within_ != 0 && found.fewest_threads > most_within_;
    };
    const auto first = std::ranges::find_if(trial.reports, is_of_large);
    if (first == trial.reports.end()) return;
    TrialReport all = *first;
    const auto places = std::ranges::count_if(trial.reports, is_of_large);
    all.report.text = "threadgroup memory\n  in a threadgroup of " + std::to_string(all.fewest_threads) +
                      " threads it goes beyond its threadgroup memory (" + all.report.argument + "), at " +
                      std::to_string(places) + (places == 1 ? " place" : " places") + "; in one of " +
                      std::to_string(most_within_) + " it does not\n  if it is made for " +
                      std::to_string(most_within_) + " threads at most, [[max_total_threads_per_threadgroup(" +
                      std::to_string(most_within_) + ")]] says so, and no launch has more\n";
    std::erase_if(trial.reports, is_of_large);
    trial.reports.push_back(std::move(all));
  }

  bool is_of_threadgroup(const pipeline::ValidationReport& report) const {
    if (report.binding < 0) return true;
    return std::ranges::any_of(signature_.arguments, [&](const air::Argument& argument) {
      return argument.kind == air::ArgumentKind::kThreadgroupBuffer && argument.name == report.argument;
    });
  }

  // Those buffers that a launch of as many threads keeps within must be enough for one of more.
  void run_with_too_many_threads() {
    const Grid exact = kGrids[0].at(1);
    std::set<int> larger;
    for (const pipeline::ValidationReport& report : launch(exact, &larger)) {
      if (report.fault == pipeline::Fault::kOutOfBounds) larger.insert(report.binding);
    }
    Grid more = exact;
    more.threads[0] += kBeyond;
    for (const pipeline::ValidationReport& report : launch(more, &larger, exact.threads[0])) {
      if (report.fault == pipeline::Fault::kOutOfBounds && !larger.contains(report.binding)) {
        trial.reports.push_back({.report = report, .always = true});
      }
    }
  }

  // `larger`: where it is given, buffers other than these have one element for each of `count`.
  std::vector<pipeline::ValidationReport> launch(Grid grid, const std::set<int>* larger = nullptr,
                                                 std::uint32_t count = 0) {
    if (count == 0) count = std::min(grid.threads[0], kMostCount);
    const std::size_t cube = std::size_t{count} * count * count;
    const std::size_t elements = std::clamp(cube, kFewestElements, kMostElements);
    pipeline::Launch launch;
    std::vector<AlignedBytes> memory(air::kMaxBindings);
    for (const air::Argument& argument : signature_.arguments) {
      if (!air::is_bound(argument.kind)) continue;
      if (argument.kind == air::ArgumentKind::kThreadgroupBuffer) {
        launch.threadgroup_bytes[argument.binding] = kThreadgroupBytes;
        continue;
      }
      const bool bounded = larger != nullptr && !larger->contains(static_cast<int>(argument.binding));
      for (unsigned i = argument.binding; i < argument.binding + argument.count; ++i) {
        memory[i] = contents(argument, count, bounded ? count : elements);
        launch.buffers[i] = memory[i].data();
        launch.buffer_bytes[i] = memory[i].size();
      }
    }
    std::vector<pipeline::ValidationReport> reports;
    launch.validate = true;
    launch.reports = &reports;
    limit(grid.group);
    pipeline_->launch(launch, grid.threads, grid.group);
    return reports;
  }

  AlignedBytes contents(const air::Argument& argument, std::uint32_t count, std::size_t elements) const {
    const auto type = element_type_of(argument);
    if (!type && is_reference(argument)) {
      std::vector<std::byte> bytes(std::min(argument.buffer_size, kUnknownBytes));
      fill_struct(argument.members, bytes, count, argument.binding);
      return AlignedBytes(bytes);
    }
    if (!type) {
      const std::size_t size = argument.size == 0 ? kUnknownBytes : argument.size * elements;
      return AlignedBytes(std::vector<std::byte>(std::min(size, kUnknownBytes)));
    }
    if (is_reference(argument)) return one_value(*type, count, 0, argument.binding);
    if (!is_whole(type)) return filled(Filling::kRandom, *type, elements, 0, argument.binding);
    const std::size_t size = size_of(type->scalar);
    std::vector<std::byte> scalars(elements * type->width * size);
    for (std::size_t i = 0; i < scalars.size() / size; ++i) {
      put_number(type->scalar, std::uint64_t{i % count}, scalars.data() + i * size);
    }
    return AlignedBytes(lay_out(*type, scalars));
  }

  void limit(pipeline::Size& group) const {
    const std::uint32_t most = pipeline_->max_threads_per_threadgroup();
    while (std::uint64_t{group[0]} * group[1] * group[2] > most) {
      std::uint32_t& extent = *std::ranges::max_element(group);
      extent = (extent + 1) / 2;
    }
  }

  const air::Signature signature_;
  std::shared_ptr<pipeline::Pipeline> pipeline_;
  std::uint64_t most_within_ = 0;  // threads of a threadgroup that kept within threadgroup memory
  bool knows_count_ = false;       // it has one whole number by reference, and compares positions
};

}  // namespace

Trial try_kernel(const library::FunctionEntry& function, const lint::Lints& lints) {
  ::setenv("ANYMPS_VALIDATE_LOOPS", kLoopLimit, /*overwrite=*/0);
  Trials trials(function, lints);
  if (trials.trial.not_tried.empty()) trials.run();
  return std::move(trials.trial);
}

}  // namespace anymps::metal::tool
