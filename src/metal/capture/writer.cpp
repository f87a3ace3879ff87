#include "metal/capture/writer.h"

#include <llvm/Support/JSON.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <set>
#include <system_error>
#include <utility>

#include "gpu/support/sha256.h"
#include "gpu/support/whole_file.h"
#include "metal/air/argument_access.h"
#include "metal/pipeline/loaded_library.h"
#include "metal/support/json_text.h"

namespace anymps::metal::capture {
namespace {

namespace fs = std::filesystem;
namespace json = llvm::json;
namespace format = capture_format;

[[noreturn]] void cannot_write(const fs::path& file) {
  const int why = errno;
  throw std::system_error(why != 0 ? why : EIO, std::generic_category(), file.string());
}

void write_file(const fs::path& file, std::span<const std::byte> bytes) {
  errno = 0;
  std::ofstream stream(file, std::ios::binary);
  stream.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  stream.close();
  if (!stream) cannot_write(file);
}

std::string hash_of(std::span<const std::byte> bytes) {
  return gpu::support::hex_of(gpu::support::Sha256().update(bytes).finish());
}

// The buffers of one launch: each memory once, in the order in which they are met.
struct Buffers {
  struct Entry {
    Memory memory;
    bool written = false;
  };
  std::vector<Entry> entries;

  std::size_t number_of(const Memory& memory) {
    for (std::size_t i = 0; i < entries.size(); ++i) {
      if (entries[i].memory.base == memory.base && entries[i].memory.bytes == memory.bytes) return i;
    }
    entries.push_back({memory});
    return entries.size() - 1;
  }
};

struct KernelFiles {
  std::string library;
  std::string source;  // empty: it came from none
};

class FolderCapture final : public Capture {
 public:
  FolderCapture(const std::string& folder, const CaptureFacts& facts) : folder_(folder) {
    for (const auto& [key, value] : facts) about_[key] = json::fixUTF8(value);
    about_["version"] = format::kVersion;
    fs::create_directories(folder_.parent_path().empty() ? fs::path(".") : folder_.parent_path());
    if (!fs::create_directory(folder_)) {
      throw std::system_error(EEXIST, std::generic_category(), folder);
    }
    fs::create_directory(folder_ / format::kKernels);
    fs::create_directory(folder_ / format::kBuffers);
    errno = 0;
    launches_.open(folder_ / format::kLaunches, std::ios::binary);
    if (!launches_) cannot_write(folder_ / format::kLaunches);
    write_about(false);
  }

  std::size_t begun(const CapturedLaunch& captured) override {
    const std::lock_guard lock(mutex_);
    const std::size_t number = count_++;
    const pipeline::Launch& launch = captured.launch;
    const KernelFiles& kernel = files_of(captured);
    Buffers buffers;
    json::Array bindings;
    for (unsigned i = 0; i < air::kMaxBindings; ++i) {
      if (launch.buffers[i] == nullptr) continue;
      auto* const at = static_cast<std::byte*>(launch.buffers[i]);
      const Memory own{at, launch.buffer_bytes[i]};
      const Memory& around = captured.around[i].base != nullptr ? captured.around[i] : own;
      json::Object binding{{"index", i},
                           {"buffer", static_cast<std::int64_t>(buffers.number_of(around))},
                           {"offset", at - around.base},
                           {"bytes", static_cast<std::int64_t>(own.bytes)}};
      if ((launch.by_value >> i & 1U) != 0) binding["by_value"] = true;
      bindings.push_back(std::move(binding));
    }
    json::Array addresses = addresses_in(captured, buffers);
    mark_written(captured, buffers);
    json::Array threadgroup;
    for (unsigned i = 0; i < air::kMaxBindings; ++i) {
      if (launch.threadgroup_bytes[i] == 0) continue;
      threadgroup.push_back(
          json::Object{{"index", i}, {"bytes", static_cast<std::int64_t>(launch.threadgroup_bytes[i])}});
    }
    json::Array contents;
    for (const Buffers::Entry& buffer : buffers.entries) {
      contents.push_back(json::Object{{"bytes", static_cast<std::int64_t>(buffer.memory.bytes)},
                                      {"before", keep(buffer.memory)},
                                      {"written", buffer.written}});
    }
    json::Object line{{"launch", static_cast<std::int64_t>(number)},
                      {"kernel", json::fixUTF8(captured.kernel)},
                      {"library", kernel.library},
                      {"threads", json::Array(captured.threads)},
                      {"group", json::Array(captured.group)},
                      {"bindings", std::move(bindings)},
                      {"buffers", std::move(contents)},
                      {"addresses", std::move(addresses)},
                      {"threadgroup", std::move(threadgroup)}};
    if (!kernel.source.empty()) {
      line["source"] = kernel.source;
      line["fast_math"] = !captured.signature.fast_math_disabled;
    }
    write_line(std::move(line));
    running_.emplace(number, std::move(buffers));
    return number;
  }

  void ended(std::size_t number, std::uint64_t nanoseconds) override {
    const std::lock_guard lock(mutex_);
    const auto found = running_.find(number);
    if (found == running_.end()) return;
    const Buffers buffers = std::move(found->second);
    running_.erase(found);
    json::Object after;
    for (std::size_t i = 0; i < buffers.entries.size(); ++i) {
      if (buffers.entries[i].written) after[std::to_string(i)] = keep(buffers.entries[i].memory);
    }
    write_line(json::Object{{"launch", static_cast<std::int64_t>(number)},
                            {"ms", static_cast<double>(nanoseconds) / 1e6},
                            {"after", std::move(after)}});
  }

  void finish(std::span<const RanOperator> operators) override {
    const std::lock_guard lock(mutex_);
    json::Array ran;
    for (const RanOperator& one : operators) {
      ran.push_back(json::Object{{"name", json::fixUTF8(one.name)},
                                 {"count", static_cast<std::int64_t>(one.count)},
                                 {"ms", static_cast<double>(one.nanoseconds) / 1e6}});
    }
    about_["operators"] = std::move(ran);
    about_["launches"] = static_cast<std::int64_t>(count_);
    errno = 0;
    launches_.close();
    if (!launches_) cannot_write(folder_ / format::kLaunches);
    write_about(true);
  }

 private:
  void write_about(bool complete) {
    about_["complete"] = complete;
    const std::string text = support::json_text(json::Object(about_)) + "\n";
    gpu::support::write_whole(folder_ / format::kAbout, text);
  }

  void write_line(json::Object line) {
    errno = 0;
    launches_ << support::json_text(std::move(line)) << "\n" << std::flush;
    if (!launches_) cannot_write(folder_ / format::kLaunches);
  }

  // The name under which the memory's bytes are kept as they are now.
  std::string keep(const Memory& memory) {
    const std::span<const std::byte> bytes(memory.base, memory.bytes);
    std::string hash = hash_of(bytes);
    if (!kept_.contains(hash)) write_file(folder_ / format::kBuffers / (hash + ".bin"), bytes);
    kept_.insert(hash);  // not before it is there: a later launch may have more luck
    return hash;
  }

  const KernelFiles& files_of(const CapturedLaunch& captured) {
    const auto [found, is_new] = kernels_.try_emplace({captured.library, captured.kernel});
    KernelFiles& files = found->second;
    if (!is_new) return files;
    const std::vector<std::byte> library = captured.library->metallib_of(captured.kernel);
    files.library = keep_in_kernels(library, ".metallib");
    if (const std::string_view source = captured.library->source(); !source.empty()) {
      files.source = keep_in_kernels(std::as_bytes(std::span(source)), ".metal");
    }
    return files;
  }

  std::string keep_in_kernels(std::span<const std::byte> bytes, const char* extension) {
    std::string name = std::string(format::kKernels) + "/" + hash_of(bytes).substr(0, kShortHash) + extension;
    write_file(folder_ / name, bytes);
    return name;
  }

  // Where values that are passed hold addresses: the place, and what lies there.
  static json::Array addresses_in(const CapturedLaunch& captured, Buffers& buffers) {
    json::Array addresses;
    const std::size_t own = buffers.entries.size();
    for (std::size_t number = 0; number < own; ++number) {
      const Memory holder = buffers.entries[number].memory;
      if (!is_by_value(captured.launch, holder)) continue;
      for (std::size_t at = 0; at + sizeof(void*) <= holder.bytes; at += sizeof(void*)) {
        std::uintptr_t value = 0;
        std::memcpy(&value, holder.base + at, sizeof value);
        const auto* const address = reinterpret_cast<const std::byte*>(value);
        for (const Memory& memory : captured.reachable) {
          if (!memory.contains(address)) continue;
          const std::size_t of = buffers.number_of(memory);
          // A kernel may write through it: nothing says that it does not.
          buffers.entries[of].written = true;
          addresses.push_back(json::Object{{"buffer", static_cast<std::int64_t>(number)},
                                           {"at", static_cast<std::int64_t>(at)},
                                           {"of", static_cast<std::int64_t>(of)},
                                           {"offset", address - memory.base}});
          break;
        }
      }
    }
    return addresses;
  }

  static bool is_by_value(const pipeline::Launch& launch, const Memory& memory) {
    for (unsigned i = 0; i < air::kMaxBindings; ++i) {
      if ((launch.by_value >> i & 1U) != 0 && launch.buffers[i] == memory.base) return true;
    }
    return false;
  }

  static void mark_written(const CapturedLaunch& captured, Buffers& buffers) {
    for (const air::Argument& argument : captured.signature.arguments) {
      if (!air::is_bound(argument.kind) || !air::may_be_written(argument)) continue;
      for (unsigned i = argument.binding; i < std::min(argument.binding + argument.count, air::kMaxBindings); ++i) {
        const void* address = captured.launch.buffers[i];
        if (address == nullptr) continue;
        for (Buffers::Entry& buffer : buffers.entries) buffer.written |= buffer.memory.contains(address);
      }
    }
  }

  static constexpr std::size_t kShortHash = 16;

  const fs::path folder_;
  std::mutex mutex_;
  std::ofstream launches_;
  json::Object about_;
  std::size_t count_ = 0;
  std::set<std::string> kept_;
  std::map<std::pair<std::shared_ptr<const pipeline::LoadedLibrary>, std::string>, KernelFiles> kernels_;
  std::map<std::size_t, Buffers> running_;
};

}  // namespace

std::unique_ptr<Capture> write_capture(const std::string& folder, const CaptureFacts& facts) {
  return std::make_unique<FolderCapture>(folder, facts);
}

}  // namespace anymps::metal::capture
