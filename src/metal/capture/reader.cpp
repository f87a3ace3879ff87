#include "metal/capture/reader.h"

#include <llvm/Support/Error.h>
#include <llvm/Support/JSON.h>

#include <algorithm>
#include <filesystem>
#include <string_view>

#include "gpu/support/files_ahead.h"
#include "gpu/support/json_depth.h"
#include "gpu/support/sha256.h"

namespace anymps::metal::capture {
namespace {

namespace fs = std::filesystem;
namespace json = llvm::json;
namespace format = capture_format;

constexpr std::size_t kMostLaunches = 1'000'000;

// A line, whose every field is asked for by its name.
class Fields {
 public:
  Fields(const json::Value& value, const std::string& where) : object_(value.getAsObject()), where_(where) {
    if (object_ == nullptr) refuse("it is no object");
  }

  std::size_t number(llvm::StringRef key) const {
    const auto value = object_->getInteger(key);
    if (!value || *value < 0) refuse_field(key, "is no number");
    return static_cast<std::size_t>(*value);
  }
  std::string text(llvm::StringRef key) const {
    const auto value = object_->getString(key);
    if (!value) refuse_field(key, "is no text");
    return value->str();
  }
  bool truth(llvm::StringRef key) const { return object_->getBoolean(key).value_or(false); }
  bool has(llvm::StringRef key) const { return object_->get(key) != nullptr; }
  double real(llvm::StringRef key) const {
    const auto value = object_->getNumber(key);
    if (!value) refuse_field(key, "is no number");
    return *value;
  }
  const json::Array& array(llvm::StringRef key) const {
    const json::Array* value = object_->getArray(key);
    if (value == nullptr) refuse_field(key, "is no list");
    return *value;
  }
  const json::Object& object(llvm::StringRef key) const {
    const json::Object* value = object_->getObject(key);
    if (value == nullptr) refuse_field(key, "is no object");
    return *value;
  }
  pipeline::Size size(llvm::StringRef key) const {
    const json::Array& values = array(key);
    pipeline::Size result{};
    if (values.size() != result.size()) refuse_field(key, "has not three numbers");
    for (std::size_t i = 0; i < result.size(); ++i) {
      const auto value = values[i].getAsInteger();
      if (!value || *value < 1 || *value > UINT32_MAX) refuse_field(key, "is no size");
      result[i] = static_cast<std::uint32_t>(*value);
    }
    return result;
  }
  std::size_t below(llvm::StringRef key, std::size_t bound) const {
    const std::size_t value = number(key);
    if (value >= bound) refuse_field(key, "is too large");
    return value;
  }
  [[noreturn]] void refuse(const std::string& why) const { throw CaptureError(where_ + ": " + why); }

 private:
  [[noreturn]] void refuse_field(llvm::StringRef key, const char* why) const {
    throw CaptureError(where_ + ": `" + std::string(key) + "` " + why);
  }

  const json::Object* object_;
  const std::string& where_;
};

bool is_hash(std::string_view text) {
  return text.size() == 2 * sizeof(gpu::support::Digest) &&
         text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

std::string hash(const Fields& fields, std::string text) {
  if (!is_hash(text)) fields.refuse("`" + text + "` is no hash");
  return text;
}

// "kernels/NAME": nothing that leads elsewhere.
std::string kernel_file(const Fields& fields, llvm::StringRef key) {
  const std::string text = fields.text(key);
  const fs::path path(text);
  if (path.parent_path() != format::kKernels || path.filename().string().starts_with('.')) {
    fields.refuse("`" + text + "` is no file of the capture");
  }
  return text;
}

// All of `bytes` from `offset` on lie in the buffer.
void check_range(const Fields& fields, const RecordedBuffer& buffer, std::size_t offset, std::size_t bytes) {
  if (offset > buffer.bytes || bytes > buffer.bytes - offset) fields.refuse("a place lies behind its buffer");
}

RecordedLaunch recorded_launch_of(const Fields& fields, const std::string& where) {
  RecordedLaunch launch;
  launch.kernel = fields.text("kernel");
  launch.library = kernel_file(fields, "library");
  if (fields.has("source")) launch.source = kernel_file(fields, "source");
  launch.fast_math = fields.truth("fast_math");
  launch.threads = fields.size("threads");
  launch.group = fields.size("group");
  for (const json::Value& value : fields.array("buffers")) {
    const Fields buffer(value, where);
    launch.buffers.push_back({.bytes = buffer.number("bytes"),
                              .before = hash(buffer, buffer.text("before")),
                              .written = buffer.truth("written"),
                              .after = {}});
  }
  for (const json::Value& value : fields.array("bindings")) {
    const Fields binding(value, where);
    const RecordedBinding& read = launch.bindings.emplace_back(
        RecordedBinding{.index = static_cast<unsigned>(binding.below("index", air::kMaxBindings)),
                        .buffer = binding.below("buffer", launch.buffers.size()),
                        .offset = binding.number("offset"),
                        .bytes = binding.number("bytes"),
                        .by_value = binding.truth("by_value")});
    check_range(binding, launch.buffers[read.buffer], read.offset, read.bytes);
  }
  for (const json::Value& value : fields.array("addresses")) {
    const Fields address(value, where);
    const RecordedAddress& read =
        launch.addresses.emplace_back(RecordedAddress{.buffer = address.below("buffer", launch.buffers.size()),
                                                      .at = address.number("at"),
                                                      .of = address.below("of", launch.buffers.size()),
                                                      .offset = address.number("offset")});
    check_range(address, launch.buffers[read.buffer], read.at, sizeof(void*));
    check_range(address, launch.buffers[read.of], read.offset, 0);
  }
  for (const json::Value& value : fields.array("threadgroup")) {
    const Fields memory(value, where);
    launch.threadgroup.emplace_back(static_cast<unsigned>(memory.below("index", air::kMaxBindings)),
                                    memory.below("bytes", pipeline::Pipeline::kMostThreadgroupBytes + 1));
  }
  return launch;
}

void end_launch(RecordedLaunch& launch, const Fields& fields) {
  launch.milliseconds = fields.real("ms");
  for (const auto& [key, value] : fields.object("after")) {
    std::size_t number = 0;
    if (key.str().empty() || llvm::StringRef(key).getAsInteger(10, number) || number >= launch.buffers.size()) {
      fields.refuse("there is no buffer " + key.str());
    }
    launch.buffers[number].after = hash(fields, value.getAsString().value_or("").str());
  }
}

}  // namespace

std::string launches_file(const std::string& folder) { return (fs::path(folder) / format::kLaunches).string(); }

std::vector<RecordedLaunch> read_launches(const std::string& folder) {
  const std::string file = launches_file(folder);
  std::vector<std::byte> bytes;
  try {
    bytes = gpu::support::read_plain(file);
  } catch (const std::runtime_error&) {
    throw CaptureError(file + ": cannot be read; is " + folder + " a capture?");
  }
  std::string_view rest(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  std::vector<RecordedLaunch> launches;
  std::size_t line_number = 0;
  for (;;) {
    const std::size_t end = rest.find('\n');
    if (end == std::string_view::npos) break;  // the process died while it wrote
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(end + 1);
    const std::string where = file + ":" + std::to_string(++line_number);
    if (gpu::support::is_nested_too_deep(line)) throw CaptureError(where + ": it is nested too deep");
    auto value = json::parse(line);
    if (!value) throw CaptureError(where + ": " + llvm::toString(value.takeError()));
    const Fields fields(*value, where);
    const std::size_t number = fields.below("launch", std::min(launches.size() + 1, kMostLaunches));
    if (number == launches.size()) {
      launches.push_back(recorded_launch_of(fields, where));
    } else {
      end_launch(launches[number], fields);
    }
  }
  return launches;
}

std::string buffer_file(const std::string& folder, const std::string& hash) {
  return (fs::path(folder) / format::kBuffers / (hash + ".bin")).string();
}

std::vector<std::byte> read_buffer(const std::string& folder, const std::string& hash, std::size_t bytes) {
  const std::string file = buffer_file(folder, hash);
  std::vector<std::byte> content;
  try {
    content = gpu::support::read_plain(file);
  } catch (const std::runtime_error& error) {
    throw CaptureError(file + ": " + error.what());
  }
  if (content.size() != bytes) {
    throw CaptureError(file + ": has " + std::to_string(content.size()) + " bytes, not " + std::to_string(bytes));
  }
  if (gpu::support::hex_of(gpu::support::Sha256().update(content).finish()) != hash) {
    throw CaptureError(file + ": its bytes are not those that were captured");
  }
  return content;
}

}  // namespace anymps::metal::capture
