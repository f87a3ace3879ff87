#include "metal/tool/launch_request.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "gpu/support/whole_number.h"
#include "metal/abi/constant_values.h"
#include "metal/tool/element_type.h"

namespace anymps::metal::tool {
namespace {

std::pair<std::string, std::string> cut(const std::string& text, const std::string& option, const char* form) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0)
    throw RequestError("--" + option + " takes " + form + ", not " + text);
  return {text.substr(0, equals), text.substr(equals + 1)};
}

template <typename Number>
Number option_number(const std::string& text, const std::string& option) {
  const auto number = gpu::support::whole_number<Number>(text);
  if (!number) throw RequestError("--" + option + " takes a whole number, not `" + text + "`");
  return *number;
}

pipeline::Size option_size(std::string_view text, const std::string& option) {
  const std::string whole(text);
  pipeline::Size size = {1, 1, 1};
  for (unsigned axis = 0;; ++axis) {
    const std::size_t comma = text.find(',');
    const auto extent = gpu::support::whole_number<std::uint32_t>(text.substr(0, comma));
    if (axis == 3 || !extent || *extent == 0) {
      throw RequestError("--" + option + " takes one to three numbers above 0, such as 64,4, not " + whole);
    }
    size[axis] = *extent;
    if (comma == std::string_view::npos) return size;
    text.remove_prefix(comma + 1);
  }
}

unsigned binding_of(const std::string& text, const std::string& option) {
  const auto binding = option_number<unsigned>(text, option);
  if (binding >= air::kMaxBindings) throw RequestError("--" + option + ": there are bindings 0 to 30, not " + text);
  return binding;
}

void set(LaunchRequest& request, const std::string& key, const std::string& value) {
  if (key == "threads") {
    request.threads = option_size(value, key);
  } else if (key == "group") {
    request.group = option_size(value, key);
  } else if (key == "arg") {
    request.arguments.push_back(value);
  } else if (key == "threadgroup") {
    const std::string option = "threadgroup-bytes";
    const auto [index, bytes] = cut(value, option, "INDEX=BYTES");
    request.threadgroup_bytes[binding_of(index, option)] = option_number<std::size_t>(bytes, option);
  } else if (key == "constant") {
    request.constants.push_back(cut(value, key, "ID=VALUE or NAME=VALUE"));
  } else if (key == "out") {
    const std::size_t equals = value.find('=');
    request.outputs[binding_of(value.substr(0, equals), key)] =
        equals == std::string::npos ? "" : value.substr(equals + 1);
  } else if (key == "seed") {
    request.seed = option_number<std::uint64_t>(value, key);
  } else if (key == "repeat") {
    request.repeat = option_number<std::size_t>(value, key);
  } else if (key == "validate") {
    request.validate = value == "1";
  } else {
    throw RequestError("there is no option " + key);
  }
}

const air::FunctionConstant& constant_named(const std::string& name, const air::Signature& signature) {
  const auto id = gpu::support::whole_number<unsigned>(name);
  const auto found = std::ranges::find_if(signature.constants, [&](const air::FunctionConstant& constant) {
    return id ? constant.id == *id : constant.name == name;
  });
  if (found != signature.constants.end()) return *found;
  std::string known;
  for (const air::FunctionConstant& constant : signature.constants) {
    known += (known.empty() ? "" : ", ") + std::to_string(constant.id) + " " + constant.type + " " + constant.name;
  }
  throw RequestError("--constant " + name + ": " + signature.kernel +
                     (known.empty() ? " has no function constants" : " has the function constants " + known));
}

std::uint64_t bits_of(const air::FunctionConstant& constant, const std::string& text) {
  const auto type = element_type(constant.type);
  if (!type || type->width != 1) {
    throw RequestError("--constant " + constant.name + ": a value of type " + constant.type + " cannot be given here");
  }
  std::uint64_t bits = 0;
  put_number(type->scalar, number_of(type->scalar, text), reinterpret_cast<std::byte*>(&bits));
  return bits;
}

}  // namespace

LaunchRequest launch_request_of(std::span<const std::string> options) {
  LaunchRequest request;
  for (const std::string& option : options) {
    const auto [key, value] = cut(option, option, "KEY=VALUE");
    set(request, key, value);
  }
  return request;
}

std::string buffers_of(const air::Signature& signature) {
  std::string text;
  for (const air::Argument& argument : signature.arguments) {
    if (!air::is_bound(argument.kind)) continue;
    const char* space = argument.address_space == air::kDeviceSpace     ? "device "
                        : argument.address_space == air::kConstantSpace ? "constant "
                                                                        : "threadgroup ";
    text += (text.empty() ? "" : ", ") + std::to_string(argument.binding) + " " + space + argument.type_name +
            (argument.buffer_size != 0 ? "& " : "* ") + argument.name;
  }
  return text.empty() ? "none" : text;
}

abi::ConstantValues constants_of(const LaunchRequest& request, const air::Signature& signature) {
  abi::ConstantValues values;
  for (const auto& [name, text] : request.constants) {
    const air::FunctionConstant& constant = constant_named(name, signature);
    values[constant.id] = bits_of(constant, text);
  }
  for (const air::FunctionConstant& constant : signature.constants) {
    if (!constant.required || values.contains(constant.id)) continue;
    throw RequestError(signature.kernel + ": function constant " + std::to_string(constant.id) + " (" + constant.type +
                       " " + constant.name + ") has no value: --constant " + constant.name + "=VALUE");
  }
  return values;
}

}  // namespace anymps::metal::tool
