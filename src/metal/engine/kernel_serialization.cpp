// A compiled kernel as bytes, for the cache: numbers of 64 bits, texts with their length, then the object.
#include "metal/engine/compiler.h"
#include "metal/support/packed_bytes.h"

namespace anymps::metal::engine {
namespace {

void pack_validation(support::PackedWriter& out, const lower::transform::ValidationTable& table) {
  out.number(table.objects.size());
  for (const lower::transform::ValidationObject& object : table.objects) {
    out.number(static_cast<std::uint64_t>(object.kind));
    out.text(object.name);
    out.number(object.parameter);
    out.number(object.offset);
    out.number(object.size);
  }
  out.number(table.sites.size());
  for (const lower::transform::ValidationSite& site : table.sites) {
    out.number(static_cast<std::uint64_t>(site.kind));
    out.number(static_cast<std::uint64_t>(site.threadgroup));
    out.number(site.alignment);
    out.number(site.element);
    out.number(site.objects.size());
    for (const std::uint32_t object : site.objects) out.number(object);
    out.text(site.place);
  }
}

lower::transform::ValidationTable unpack_validation(support::PackedReader& in) {
  lower::transform::ValidationTable table;
  for (std::uint64_t left = in.count(5 * sizeof(std::uint64_t)); left != 0; --left) {
    lower::transform::ValidationObject object;
    object.kind = static_cast<lower::transform::ValidationObject::Kind>(in.number());
    object.name = in.text();
    object.parameter = static_cast<unsigned>(in.number());
    object.offset = in.number();
    object.size = in.number();
    table.objects.push_back(std::move(object));
  }
  for (std::uint64_t left = in.count(6 * sizeof(std::uint64_t)); left != 0; --left) {
    lower::transform::ValidationSite site;
    site.kind = static_cast<lower::transform::ValidationSite::Kind>(in.number());
    site.threadgroup = in.number() != 0;
    site.alignment = static_cast<std::uint32_t>(in.number());
    site.element = static_cast<std::uint32_t>(in.number());
    for (std::uint64_t more = in.count(sizeof(std::uint64_t)); more != 0; --more) {
      site.objects.push_back(static_cast<std::uint32_t>(in.number()));
      in.good &= site.objects.back() < table.objects.size();
    }
    site.place = in.text();
    table.sites.push_back(std::move(site));
  }
  return table;
}

}  // namespace

std::vector<std::byte> pack(const runtime::CompiledKernel& kernel) {
  support::PackedWriter out;
  out.number(static_cast<std::uint64_t>(kernel.route));
  out.number(kernel.cooperative ? 1 : 0);
  out.text(kernel.not_vectorized);
  out.number(kernel.threadgroup.bytes);
  out.number(kernel.threadgroup.cleared.size());
  for (const auto& [offset, size] : kernel.threadgroup.cleared) {
    out.number(offset);
    out.number(size);
  }
  out.number(kernel.points.size());
  for (const abi::CooperativeCall& point : kernel.points) {
    out.number(static_cast<std::uint64_t>(point.op));
    out.number(static_cast<std::uint64_t>(point.form));
    out.number(static_cast<std::uint64_t>(point.scalar));
    out.number(point.width);
    out.number(point.bytes);
    out.number(point.memory);
  }
  pack_validation(out, kernel.validation);
  out.append(kernel.object.data(), kernel.object.size());
  return out.take();
}

std::optional<runtime::CompiledKernel> unpack(std::span<const std::byte> bytes) {
  support::PackedReader in(bytes);
  runtime::CompiledKernel kernel;
  kernel.route = static_cast<abi::Route>(in.number());
  kernel.cooperative = in.number() != 0;
  kernel.not_vectorized = in.text();
  kernel.threadgroup.bytes = in.number();
  for (std::uint64_t left = in.count(2 * sizeof(std::uint64_t)); left != 0; --left) {
    const std::uint64_t offset = in.number();
    kernel.threadgroup.cleared.emplace_back(offset, in.number());
  }
  for (std::uint64_t left = in.count(6 * sizeof(std::uint64_t)); left != 0; --left) {
    abi::CooperativeCall point;
    point.op = static_cast<abi::CooperativeOp>(in.number());
    point.form = static_cast<abi::Form>(in.number());
    point.scalar = static_cast<abi::Scalar>(in.number());
    point.width = static_cast<std::uint8_t>(in.number());
    point.bytes = static_cast<std::uint8_t>(in.number());
    point.memory = static_cast<std::uint8_t>(in.number());
    kernel.points.push_back(point);
  }
  kernel.validation = unpack_validation(in);
  if (!in.good || in.rest().empty()) return std::nullopt;
  kernel.object.assign(in.rest().begin(), in.rest().end());
  return kernel;
}

}  // namespace anymps::metal::engine
