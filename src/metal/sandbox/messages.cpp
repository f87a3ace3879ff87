#include "metal/sandbox/messages.h"

#include "metal/support/packed_bytes.h"

namespace anymps::metal::sandbox {
namespace {

using support::PackedReader;
using support::PackedWriter;

constexpr unsigned kMostNesting = 16;  // of structs in an argument

template <typename Enumeration>
Enumeration enumerator(PackedReader& in, Enumeration last) {
  const std::uint64_t value = in.number();
  if (value > static_cast<std::uint64_t>(last)) in.good = false;
  return in.good ? static_cast<Enumeration>(value) : Enumeration{};
}

unsigned below(PackedReader& in, std::uint64_t bound) {
  const std::uint64_t value = in.number();
  if (value >= bound) in.good = false;
  return in.good ? static_cast<unsigned>(value) : 0;
}

void pack_size(PackedWriter& out, const std::array<std::uint32_t, 3>& size) {
  for (const std::uint32_t side : size) out.number(side);
}
std::array<std::uint32_t, 3> unpack_size(PackedReader& in) {
  std::array<std::uint32_t, 3> size{};
  for (std::uint32_t& side : size) side = static_cast<std::uint32_t>(in.number());
  return size;
}

void pack_make(PackedWriter& out, const MakeRequest& make) {
  out.text(make.name);
  out.text(make.bitcode);
  out.text(make.engine);
  out.number(make.constants.size());
  for (const auto& [id, value] : make.constants) {
    out.number(id);
    out.number(value);
  }
}

MakeRequest unpack_make(PackedReader& in) {
  MakeRequest make;
  make.name = in.text();
  make.bitcode = in.text();
  make.engine = in.text();
  for (std::uint64_t left = in.count(2 * sizeof(std::uint64_t)); left != 0; --left) {
    const auto id = static_cast<unsigned>(in.number());
    make.constants[id] = in.number();
  }
  return make;
}

void pack_launch(PackedWriter& out, const LaunchRequest& launch) {
  out.number(launch.pipeline);
  pack_size(out, launch.threads);
  pack_size(out, launch.group);
  out.number(launch.validate ? 1 : 0);
  out.number(launch.by_value);
  out.number(launch.memory_bytes);
  out.number(launch.buffers.size());
  for (const SharedBuffer& buffer : launch.buffers) {
    out.number(buffer.binding);
    out.number(buffer.offset);
    out.number(buffer.bytes);
  }
  for (const std::size_t bytes : launch.threadgroup_bytes) out.number(bytes);
}

LaunchRequest unpack_launch(PackedReader& in) {
  LaunchRequest launch;
  launch.pipeline = in.number();
  launch.threads = unpack_size(in);
  launch.group = unpack_size(in);
  launch.validate = in.number() != 0;
  launch.by_value = static_cast<std::uint32_t>(in.number());
  launch.memory_bytes = in.number();
  for (std::uint64_t left = in.count(3 * sizeof(std::uint64_t)); left != 0; --left) {
    SharedBuffer buffer;
    buffer.binding = below(in, air::kMaxBindings);
    buffer.offset = in.number();
    buffer.bytes = in.number();
    in.good &= buffer.offset <= launch.memory_bytes && buffer.bytes <= launch.memory_bytes - buffer.offset;
    launch.buffers.push_back(buffer);
  }
  for (std::size_t& bytes : launch.threadgroup_bytes) bytes = in.number();
  return launch;
}

void pack_members(PackedWriter& out, const std::vector<air::Member>& members) {
  out.number(members.size());
  for (const air::Member& member : members) {
    out.number(member.offset);
    out.number(member.size);
    out.number(member.count);
    out.text(member.type_name);
    out.text(member.name);
    pack_members(out, member.members);
  }
}

std::vector<air::Member> unpack_members(PackedReader& in, unsigned depth = 0) {
  std::vector<air::Member> members;
  in.good &= depth < kMostNesting;
  for (std::uint64_t left = in.count(6 * sizeof(std::uint64_t)); left != 0 && in.good; --left) {
    air::Member member;
    member.offset = in.number();
    member.size = in.number();
    member.count = in.number();
    member.type_name = in.text();
    member.name = in.text();
    member.members = unpack_members(in, depth + 1);
    members.push_back(std::move(member));
  }
  return members;
}

void pack_argument(PackedWriter& out, const air::Argument& argument) {
  out.number(argument.parameter);
  out.number(static_cast<std::uint64_t>(argument.kind));
  out.text(argument.name);
  out.text(argument.type_name);
  out.number(argument.unused ? 1 : 0);
  out.number(argument.optional ? 1 : 0);
  out.text(argument.predicate);
  out.text(argument.predicate_constant);
  out.number(argument.binding);
  out.number(argument.count);
  out.number(static_cast<std::uint64_t>(argument.access));
  out.number(argument.address_space);
  out.number(argument.size);
  out.number(argument.alignment);
  pack_members(out, argument.members);
  out.number(argument.buffer_size);
}

air::Argument unpack_argument(PackedReader& in) {
  air::Argument argument;
  argument.parameter = static_cast<unsigned>(in.number());
  argument.kind = enumerator(in, air::ArgumentKind::kDispatchQuadgroupsPerThreadgroup);
  argument.name = in.text();
  argument.type_name = in.text();
  argument.unused = in.number() != 0;
  argument.optional = in.number() != 0;
  argument.predicate = in.text();
  argument.predicate_constant = in.text();
  argument.binding = below(in, air::kMaxBindings);
  argument.count = below(in, air::kMaxBindings + 1 - argument.binding);
  argument.access = enumerator(in, air::Access::kReadWrite);
  argument.address_space = static_cast<unsigned>(in.number());
  argument.size = in.number();
  argument.alignment = in.number();
  argument.members = unpack_members(in);
  argument.buffer_size = in.number();
  return argument;
}

void pack_version(PackedWriter& out, const air::Version& version) {
  out.number(version.major);
  out.number(version.minor);
  out.number(version.patch);
}
air::Version unpack_version(PackedReader& in) {
  air::Version version;
  version.major = static_cast<unsigned>(in.number());
  version.minor = static_cast<unsigned>(in.number());
  version.patch = static_cast<unsigned>(in.number());
  return version;
}

void pack_signature(PackedWriter& out, const air::Signature& signature) {
  out.text(signature.kernel);
  out.number(signature.arguments.size());
  for (const air::Argument& argument : signature.arguments) pack_argument(out, argument);
  out.number(signature.constants.size());
  for (const air::FunctionConstant& constant : signature.constants) {
    out.number(constant.id);
    out.text(constant.name);
    out.text(constant.type);
    out.text(constant.global);
    out.number(constant.required ? 1 : 0);
  }
  out.number(signature.static_threadgroup_bytes);
  out.number(signature.max_total_threads.value_or(0));
  out.number(signature.denorms_disabled ? 1 : 0);
  out.number(signature.fast_math_disabled ? 1 : 0);
  pack_version(out, signature.air);
  pack_version(out, signature.metal);
}

air::Signature unpack_signature(PackedReader& in) {
  air::Signature signature;
  signature.kernel = in.text();
  for (std::uint64_t left = in.count(16 * sizeof(std::uint64_t)); left != 0 && in.good; --left) {
    signature.arguments.push_back(unpack_argument(in));
  }
  for (std::uint64_t left = in.count(5 * sizeof(std::uint64_t)); left != 0 && in.good; --left) {
    air::FunctionConstant constant;
    constant.id = static_cast<unsigned>(in.number());
    constant.name = in.text();
    constant.type = in.text();
    constant.global = in.text();
    constant.required = in.number() != 0;
    signature.constants.push_back(std::move(constant));
  }
  signature.static_threadgroup_bytes = in.number();
  if (const unsigned most = below(in, abi::kMostThreads + 1)) signature.max_total_threads = most;
  signature.denorms_disabled = in.number() != 0;
  signature.fast_math_disabled = in.number() != 0;
  signature.air = unpack_version(in);
  signature.metal = unpack_version(in);
  return signature;
}

void pack_report(PackedWriter& out, const pipeline::ValidationReport& report) {
  out.number(static_cast<std::uint64_t>(report.fault));
  out.text(report.kernel);
  out.text(report.access);
  out.text(report.argument);
  out.number(static_cast<std::uint64_t>(std::int64_t{report.binding} + 1));
  pack_size(out, report.thread);
  pack_size(out, report.threadgroup);
  out.number(static_cast<std::uint64_t>(report.offset));
  out.number(report.size);
  out.number(report.site);
  out.text(report.place);
  out.number(report.count);
  out.text(report.text);
}

pipeline::ValidationReport unpack_report(PackedReader& in) {
  pipeline::ValidationReport report;
  report.fault = enumerator(in, pipeline::Fault::kEndlessLoop);
  report.kernel = in.text();
  report.access = in.text();
  report.argument = in.text();
  report.binding = static_cast<int>(below(in, air::kMaxBindings + 1)) - 1;
  report.thread = unpack_size(in);
  report.threadgroup = unpack_size(in);
  report.offset = static_cast<std::int64_t>(in.number());
  report.size = in.number();
  report.site = static_cast<unsigned>(in.number());
  report.place = in.text();
  report.count = in.number();
  report.text = in.text();
  return report;
}

}  // namespace

std::vector<std::byte> pack(const Request& request) {
  PackedWriter out;
  out.number(request.dropped.size());
  for (const std::uint64_t pipeline : request.dropped) out.number(pipeline);
  out.number(request.make ? 1 : 0);
  if (request.make) pack_make(out, *request.make);
  out.number(request.launch ? 1 : 0);
  if (request.launch) pack_launch(out, *request.launch);
  return out.take();
}

std::optional<Request> unpack_request(std::span<const std::byte> bytes) {
  PackedReader in(bytes);
  Request request;
  for (std::uint64_t left = in.count(sizeof(std::uint64_t)); left != 0; --left) request.dropped.push_back(in.number());
  if (in.number() != 0) request.make = unpack_make(in);
  if (in.number() != 0) request.launch = unpack_launch(in);
  if (!in.good || !in.rest().empty()) return std::nullopt;
  return request;
}

std::vector<std::byte> pack(const Answer& answer) {
  PackedWriter out;
  out.text(answer.refusal);
  out.number(answer.pipeline);
  out.number(static_cast<std::uint64_t>(answer.route));
  pack_signature(out, answer.signature);
  out.number(answer.reports.size());
  for (const pipeline::ValidationReport& report : answer.reports) pack_report(out, report);
  return out.take();
}

std::optional<Answer> unpack_answer(std::span<const std::byte> bytes) {
  PackedReader in(bytes);
  Answer answer;
  answer.refusal = in.text();
  answer.pipeline = in.number();
  answer.route = enumerator(in, abi::Route::kSimdCoroutines);
  answer.signature = unpack_signature(in);
  for (std::uint64_t left = in.count(16 * sizeof(std::uint64_t)); left != 0 && in.good; --left) {
    answer.reports.push_back(unpack_report(in));
  }
  if (!in.good || !in.rest().empty()) return std::nullopt;
  return answer;
}

}  // namespace anymps::metal::sandbox
