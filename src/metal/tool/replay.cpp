#include "metal/tool/replay.h"

#include <llvm/Support/JSON.h>
#include <sys/resource.h>

#include <chrono>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <vector>

#include "gpu/support/files_ahead.h"
#include "gpu/support/json_depth.h"
#include "metal/capture/reader.h"
#include "metal/engine/make_pipeline.h"
#include "metal/pipeline/pipeline.h"
#include "metal/select/engine_selection.h"
#include "metal/support/json_text.h"
#include "metal/tool/argument_type.h"
#include "metal/tool/buffer_text.h"
#include "metal/tool/file_bytes.h"
#include "metal/tool/number_json.h"
#include "metal/tool/open_library.h"
#include "metal/tool/reports_json.h"
#include "metal/tool/request_error.h"

namespace anymps::metal::tool {
namespace {

namespace fs = std::filesystem;
namespace json = llvm::json;

json::Object heading(const capture::RecordedLaunch& launch, std::size_t number) {
  json::Object heading{{"launch", static_cast<std::int64_t>(number)},
                       {"kernel", json::fixUTF8(launch.kernel)},
                       {"threads", json::Array(launch.threads)},
                       {"group", json::Array(launch.group)},
                       {"captured_ms", nullptr}};
  if (launch.milliseconds) heading["captured_ms"] = *launch.milliseconds;
  return heading;
}

// The buffers as they were before the launch, at addresses of this process.
std::vector<AlignedBytes> recorded_buffers(const std::string& folder, const capture::RecordedLaunch& launch) {
  std::vector<AlignedBytes> buffers;
  buffers.reserve(launch.buffers.size());
  for (const capture::RecordedBuffer& buffer : launch.buffers) {
    buffers.emplace_back(capture::read_buffer(folder, buffer.before, buffer.bytes));
  }
  for (const capture::RecordedAddress& address : launch.addresses) {
    const auto target = reinterpret_cast<std::uintptr_t>(buffers[address.of].data() + address.offset);
    std::memcpy(buffers[address.buffer].data() + address.at, &target, sizeof target);
  }
  return buffers;
}

pipeline::Launch bound(const capture::RecordedLaunch& recorded, std::vector<AlignedBytes>& buffers) {
  pipeline::Launch launch;
  for (const capture::RecordedBinding& binding : recorded.bindings) {
    launch.buffers[binding.index] = buffers[binding.buffer].data() + binding.offset;
    launch.buffer_bytes[binding.index] = binding.bytes;
    if (binding.by_value) launch.by_value |= 1U << binding.index;
  }
  for (const auto& [index, bytes] : recorded.threadgroup) launch.threadgroup_bytes[index] = bytes;
  return launch;
}

// The argument through which a kernel sees the buffer, or null where only addresses lead to it.
const air::Argument* argument_of(const capture::RecordedLaunch& launch, const air::Signature& signature,
                                 std::size_t buffer) {
  for (const capture::RecordedBinding& binding : launch.bindings) {
    if (binding.buffer != buffer) continue;
    for (const air::Argument& argument : signature.arguments) {
      if (air::is_bound(argument.kind) && argument.kind != air::ArgumentKind::kThreadgroupBuffer &&
          binding.index - argument.binding < argument.count) {
        return &argument;
      }
    }
  }
  return nullptr;
}

double real(Number number) {
  return std::visit([](auto value) { return static_cast<double>(value); }, number);
}

bool within(double was, double is, double tolerance) {
  if (std::isnan(was) || std::isnan(is)) return std::isnan(was) && std::isnan(is);
  return was == is || std::abs(was - is) <= tolerance * std::max(std::abs(was), std::abs(is));
}

// What has become other, by scalars of the argument's type.
struct Difference {
  std::size_t scalars = 0;
  std::size_t differing = 0;
  std::size_t beyond = 0;  // of these, by more than is allowed
  std::size_t first = 0;
  double largest = 0;  // NaN: one is no number and the other is
  Number was;
  Number is;
};

Difference compare(Scalar scalar, std::span<const std::byte> was, std::span<const std::byte> is, double tolerance) {
  const std::size_t size = size_of(scalar);
  Difference found;
  found.scalars = was.size() / size;
  for (std::size_t i = 0; i < found.scalars; ++i) {
    if (std::memcmp(was.data() + i * size, is.data() + i * size, size) == 0) continue;
    const Number before = number_at(scalar, was.data() + i * size);
    const Number now = number_at(scalar, is.data() + i * size);
    if (found.differing++ == 0) {
      found.first = i;
      found.was = before;
      found.is = now;
    }
    const double apart = std::abs(real(before) - real(now));
    if (!(apart <= found.largest)) found.largest = apart;
    if (!is_floating(scalar) || !within(real(before), real(now), tolerance)) ++found.beyond;
  }
  return found;
}

// Runs one launch and compares.
class Replay {
 public:
  Replay(const std::string& folder, const capture::RecordedLaunch& launch, const ReplayOptions& options)
      : folder_(folder), launch_(launch), options_(options) {}

  // Opens the files that run() will read. Source that includes others is compiled here.
  void prepare() {
    for (const capture::RecordedBuffer& buffer : launch_.buffers) {
      gpu::support::open_ahead(capture::buffer_file(folder_, buffer.before));
      if (!buffer.after.empty()) gpu::support::open_ahead(capture::buffer_file(folder_, buffer.after));
    }
    const std::string file = opened_file();
    gpu::support::open_ahead(file);
    if (reads_other_files(file, source_options())) opened_ = open();
  }

  // Adds what came of it to the answer.
  void run(json::Object& answer) {
    if (!opened_) opened_ = open();
    const library::FunctionEntry& function = find_function(opened_->library, opened_file(), launch_.kernel);
    const std::shared_ptr<pipeline::Pipeline> pipeline =
        options_.validate ? engine::make_pipeline(function, {.constants = {}, .validate = true})
                          : select::make_chosen_pipeline(function, {});
    std::vector<AlignedBytes> buffers = recorded_buffers(folder_, launch_);
    pipeline::Launch launch = bound(launch_, buffers);
    std::vector<pipeline::ValidationReport> reports;
    launch.validate = options_.validate;
    launch.reports = &reports;
    const auto began = std::chrono::steady_clock::now();
    pipeline->launch(launch, launch_.threads, launch_.group);
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - began;
    answer["ms"] = took.count();
    answer["buffers"] = differences(pipeline->signature(), buffers);
    answer["outcome"] = !launch_.milliseconds ? "not compared" : beyond_ ? "differs" : other_ ? "close" : "equal";
    answer["reports"] = json_of(reports);
  }

 private:
  std::string opened_file() const {
    if (options_.from_source && launch_.source.empty()) {
      throw RequestError(launch_.kernel + ": the capture has no source of it, only " + launch_.library);
    }
    return (fs::path(folder_) / (options_.from_source ? launch_.source : launch_.library)).string();
  }

  SourceOptions source_options() const {
    SourceOptions source;
    source.fast_math = launch_.fast_math;
    return source;
  }

  OpenedLibrary open() const { return open_library(opened_file(), source_options(), std::span(&launch_.kernel, 1)); }

  json::Array differences(const air::Signature& signature, const std::vector<AlignedBytes>& buffers) {
    json::Array all;
    for (std::size_t i = 0; i < buffers.size(); ++i) {
      if (launch_.buffers[i].after.empty()) continue;
      const air::Argument* argument = argument_of(launch_, signature, i);
      const auto type = argument != nullptr ? element_type_of(*argument) : std::nullopt;
      const Scalar scalar = type ? type->scalar : Scalar::kU8;
      const auto was = capture::read_buffer(folder_, launch_.buffers[i].after, launch_.buffers[i].bytes);
      const Difference found = compare(scalar, was, buffers[i].bytes(), options_.tolerance);
      other_ |= found.differing != 0;
      beyond_ |= found.beyond != 0;
      if (found.differing == 0) continue;
      all.push_back(
          json::Object{{"buffer", static_cast<std::int64_t>(i)},
                       {"binding", argument != nullptr ? json::Value(argument->binding) : json::Value(nullptr)},
                       {"name", argument != nullptr ? json::fixUTF8(argument->name) : ""},
                       {"type", name_of(ElementType{scalar})},
                       {"count", static_cast<std::int64_t>(found.scalars)},
                       {"differing", static_cast<std::int64_t>(found.differing)},
                       {"beyond", static_cast<std::int64_t>(found.beyond)},
                       {"largest", json_of(Number(found.largest))},
                       {"first", static_cast<std::int64_t>(found.first)},
                       {"was", json_of(found.was)},
                       {"is", json_of(found.is)}});
    }
    return all;
  }

  const std::string& folder_;
  const capture::RecordedLaunch& launch_;
  const ReplayOptions& options_;
  std::optional<OpenedLibrary> opened_;
  bool other_ = false;
  bool beyond_ = false;
};

// A launch has a file for each of its buffers, before and after.
void allow_many_files() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

std::string about_file(const std::string& folder) {
  return (fs::path(folder) / capture::capture_format::kAbout).string();
}

}  // namespace

std::vector<std::string> files_of_capture(const std::string& folder) {
  return {about_file(folder), capture::launches_file(folder)};
}

std::string capture_as_json(const std::string& folder) {
  const std::string file = about_file(folder);
  const std::vector<capture::RecordedLaunch> launches = capture::read_launches(folder);
  const std::vector<std::byte> bytes = read_bytes(file);
  const llvm::StringRef text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (gpu::support::is_nested_too_deep(text)) throw capture::CaptureError(file + ": it is nested too deep");
  auto about = json::parse(text);
  if (!about) throw capture::CaptureError(file + ": " + llvm::toString(about.takeError()));
  json::Object* answer = about->getAsObject();
  if (answer == nullptr) throw capture::CaptureError(file + ": it is no object");
  if (const auto version = answer->getInteger("version"); version != capture::capture_format::kVersion) {
    throw capture::CaptureError(file + ": written by another version of anymps, which has captures of version " +
                                std::to_string(version.value_or(0)) + "; this one reads version " +
                                std::to_string(capture::capture_format::kVersion));
  }
  json::Array listed;
  for (std::size_t i = 0; i < launches.size(); ++i) {
    json::Object launch = heading(launches[i], i);
    std::size_t size = 0;
    for (const capture::RecordedBuffer& buffer : launches[i].buffers) size += buffer.bytes;
    launch["bytes"] = static_cast<std::int64_t>(size);
    launch["library"] = launches[i].library;
    if (!launches[i].source.empty()) launch["source"] = launches[i].source;
    listed.push_back(std::move(launch));
  }
  (*answer)["launches"] = std::move(listed);
  return support::json_text(*about);
}

std::string replay_as_json(const std::string& folder, std::span<const std::size_t> numbers,
                           const ReplayOptions& options, const std::function<void()>& confine) {
  const std::vector<capture::RecordedLaunch> launches = capture::read_launches(folder);
  allow_many_files();
  std::vector<Replay> replays;
  std::vector<json::Object> answers;
  for (const std::size_t number : numbers) {
    if (number >= launches.size()) {
      throw RequestError(folder + ": there is no launch " + std::to_string(number) + "; it has " +
                         std::to_string(launches.size()));
    }
    answers.push_back(heading(launches[number], number));
    replays.emplace_back(folder, launches[number], options);
  }
  const auto or_refuse = [&](std::size_t i, const auto& step) {
    try {
      if (answers[i].get("refusal") == nullptr) step();
    } catch (const gpu::support::TooManyFiles&) {
      throw;  // whoever asked for several launches asks for each by itself then
    } catch (const std::exception& error) {
      answers[i]["refusal"] = json::fixUTF8(error.what());
    }
  };
  for (std::size_t i = 0; i < replays.size(); ++i) or_refuse(i, [&] { replays[i].prepare(); });
  confine();
  json::Array replayed;
  for (std::size_t i = 0; i < replays.size(); ++i) {
    or_refuse(i, [&] { replays[i].run(answers[i]); });
    replayed.push_back(std::move(answers[i]));
  }
  return support::json_text(json::Object{{"launches", std::move(replayed)}});
}

}  // namespace anymps::metal::tool
