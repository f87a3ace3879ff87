#include "metal/tool/list.h"

#include <llvm/ADT/StringExtras.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/JSON.h>
#include <llvm/Support/raw_ostream.h>

#include "metal/air/signature.h"

namespace anymps::metal::tool {
namespace {

namespace json = llvm::json;

// Names come from a file and may be any bytes.
std::string utf8(std::string_view text) { return json::fixUTF8(llvm::StringRef(text.data(), text.size())); }

json::Object argument_json(const air::Argument& argument) {
  json::Object object{{"kind", utf8(name_of(argument.kind))},
                      {"name", utf8(argument.name)},
                      {"type", utf8(argument.type_name)},
                      {"unused", argument.unused}};
  if (!argument.predicate.empty()) object["function_constant"] = utf8(argument.predicate_constant);
  if (!air::is_bound(argument.kind)) return object;
  object["binding"] = argument.binding;
  object["count"] = argument.count;
  object["access"] = utf8(name_of(argument.access));
  object["address_space"] = argument.address_space;
  object["size"] = static_cast<std::int64_t>(argument.size);
  object["alignment"] = static_cast<std::int64_t>(argument.alignment);
  object["buffer_size"] = static_cast<std::int64_t>(argument.buffer_size);
  return object;
}

json::Object constant_json(const air::FunctionConstant& constant) {
  return json::Object{{"id", constant.id},
                      {"name", utf8(constant.name)},
                      {"type", utf8(constant.type)},
                      {"required", constant.required}};
}

void add_signature(const air::Signature& signature, json::Object& object) {
  json::Array arguments;
  for (const air::Argument& argument : signature.arguments) arguments.push_back(argument_json(argument));
  json::Array constants;
  for (const air::FunctionConstant& constant : signature.constants) constants.push_back(constant_json(constant));
  object["arguments"] = std::move(arguments);
  object["function_constants"] = std::move(constants);
  object["threadgroup_bytes"] = static_cast<std::int64_t>(signature.static_threadgroup_bytes);
  object["max_total_threads"] = nullptr;
  if (signature.max_total_threads) object["max_total_threads"] = *signature.max_total_threads;
  object["denorms_disabled"] = signature.denorms_disabled;
  object["fast_math_disabled"] = signature.fast_math_disabled;
}

std::string version(unsigned major, unsigned minor) { return std::to_string(major) + "." + std::to_string(minor); }

json::Object function_json(const library::FunctionEntry& function) {
  const library::FunctionVersions& versions = function.versions;
  json::Object object{{"name", utf8(function.name)},
                      {"type", name_of(function.type)},
                      {"air", version(versions.air_major, versions.air_minor)},
                      {"metal", version(versions.metal_major, versions.metal_minor)},
                      {"bitcode_bytes", static_cast<std::int64_t>(function.bitcode.size())},
                      {"hash", llvm::toHex(function.hash, /*LowerCase=*/true)}};
  if (function.type != library::FunctionType::kKernel) return object;
  try {
    llvm::LLVMContext context;
    const auto module = air::read_module(context, function.bitcode, function.name);
    add_signature(air::read_signature(*module, function.name), object);
  } catch (const air::AirError& error) {
    object["error"] = utf8(error.what());
  }
  return object;
}

}  // namespace

std::string list_as_json(std::span<const library::FunctionEntry* const> functions) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  json::OStream out(stream);
  out.object([&] {
    out.attribute("version", 1);
    out.attributeArray("functions", [&] {
      for (const library::FunctionEntry* function : functions) out.value(function_json(*function));
    });
  });
  return text;
}

}  // namespace anymps::metal::tool
