// Compiles one file of Metal and takes its kernels as far as they get: AIR, code for this CPU, launches in the
// sanitiser.
//
//   metal_source_worker FILE [-I DIR]... [-D NAME=VALUE]... [--most N] [--from K] [--no-check]
//
// Says so in lines of JSON, for metal_sources.py: of the file {"kernels", "chosen", "front_ms"} or {"refusal"}; then of
// each kernel that is chosen {"begins": K, "name"} and {"ends": K, "air_ms", "engine_ms", "check"} or {"ends": K,
// "stage", "refusal"}. After a crash the next worker goes on with --from. Milliseconds are of the processor's time.
#include <llvm/Support/JSON.h>
#include <llvm/Support/raw_ostream.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <fstream>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "metal/engine/compiler.h"
#include "metal/frontend/program.h"
#include "metal/tool/check.h"

namespace {

namespace json = llvm::json;
using anymps::metal::frontend::Program;
using anymps::metal::frontend::SourceOptions;
using anymps::metal::library::FunctionEntry;

struct Request {
  SourceOptions options;
  std::size_t most = static_cast<std::size_t>(-1);
  std::size_t from = 0;
  bool check = true;
};

std::optional<Request> read_request(std::span<char*> words) {
  Request request;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string word = words[i];
    const bool last = i + 1 == words.size();
    if (word == "--no-check") {
      request.check = false;
    } else if (word[0] != '-') {
      request.options.name = word;
    } else if (last) {
      return std::nullopt;
    } else if (word == "-I") {
      request.options.folders.emplace_back(words[++i]);
    } else if (word == "-D") {
      const std::string define = words[++i];
      const std::size_t equal = std::min(define.find('='), define.size());
      request.options.defines.emplace_back(define.substr(0, equal), define.substr(std::min(equal + 1, define.size())));
    } else if (word == "--most") {
      request.most = std::strtoull(words[++i], nullptr, 10);
    } else if (word == "--from") {
      request.from = std::strtoull(words[++i], nullptr, 10);
    } else {
      return std::nullopt;
    }
  }
  return request;
}

double milliseconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) * 1e-6;
}

void say(json::Object line) {
  llvm::outs() << json::Value(std::move(line)) << '\n';
  llvm::outs().flush();
}

json::Object try_kernel(const Program& program, const std::string& name, bool check) {
  json::Object said;
  std::string stage = "air";
  try {
    const double began = milliseconds();
    const std::vector<std::byte> air = program.air_of(name);
    said["air_ms"] = milliseconds() - began;
    stage = "engine";
    const double made = milliseconds();
    (void)anymps::metal::engine::compile_kernel(air, name, {});
    said["engine_ms"] = milliseconds() - made;
    if (check) {
      FunctionEntry function;
      function.name = name;
      function.bitcode = air;
      const std::string checked = anymps::metal::tool::check_as_json({&function, 1});
      said["check"] = (*llvm::cantFail(json::parse(checked)).getAsObject()->getArray("kernels"))[0];
    }
  } catch (const std::exception& error) {
    said["stage"] = stage;
    said["refusal"] = json::fixUTF8(error.what());
  }
  return said;
}

void work(const Request& request) {
  std::ifstream file(request.options.name, std::ios::binary);
  const std::string source{std::istreambuf_iterator<char>(file), {}};
  std::optional<Program> program;
  const double began = milliseconds();
  try {
    program.emplace(source, request.options);
  } catch (const std::exception& error) {
    return say(json::Object{{"refusal", json::fixUTF8(error.what())}});
  }
  const double front = milliseconds() - began;
  const std::vector<std::string>& names = program->kernels();
  const std::size_t stride =
      request.most >= names.size() ? 1 : (names.size() - 1) / std::max<std::size_t>(1, request.most) + 1;
  say(json::Object{{"kernels", static_cast<std::int64_t>(names.size())},
                   {"chosen", static_cast<std::int64_t>((names.size() + stride - 1) / stride)},
                   {"front_ms", front}});
  for (std::size_t i = 0; i < names.size(); i += stride) {
    if (i < request.from) continue;
    say(json::Object{{"begins", static_cast<std::int64_t>(i)}, {"name", json::fixUTF8(names[i])}});
    json::Object said = try_kernel(*program, names[i], request.check);
    said["ends"] = static_cast<std::int64_t>(i);
    say(std::move(said));
  }
}

}  // namespace

int main(int count, char** words) {
  const auto request = read_request(std::span(words, static_cast<std::size_t>(count)).subspan(1));
  if (!request || request->options.name == SourceOptions().name) return 2;
  work(*request);
  return 0;
}
