#include "metal/engine/compiler.h"

#include <llvm/ADT/StringExtras.h>
#include <llvm/ExecutionEngine/Orc/CompileUtils.h>
#include <llvm/IR/DebugInfo.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/MemoryBuffer.h>

#include <memory>
#include <string_view>

#include "gpu/cache/compile_cache.h"
#include "gpu/support/code_version.h"
#include "metal/abi/binding_slots.h"
#include "metal/abi/tensor_layout.h"
#include "metal/air/module.h"
#include "metal/pipeline/kernel_error.h"
#include "metal/support/host_target.h"

namespace anymps::metal::engine {
namespace {

lower::support::Role role_of(const air::Argument& argument, const std::string& kernel) {
  using lower::support::Role;
  switch (argument.kind) {
    case air::ArgumentKind::kBuffer:
    case air::ArgumentKind::kIndirectBuffer:
      return Role::kBuffer;
    case air::ArgumentKind::kThreadgroupBuffer:
      return Role::kThreadgroupBuffer;
    case air::ArgumentKind::kThreadPositionInGrid:
      return Role::kPositionInGrid;
    case air::ArgumentKind::kThreadPositionInThreadgroup:
      return Role::kPositionInThreadgroup;
    case air::ArgumentKind::kThreadgroupPositionInGrid:
      return Role::kThreadgroupPosition;
    case air::ArgumentKind::kThreadsPerGrid:
      return Role::kThreadsPerGrid;
    case air::ArgumentKind::kThreadsPerThreadgroup:
      return Role::kThreadsPerThreadgroup;
    case air::ArgumentKind::kThreadgroupsPerGrid:
      return Role::kThreadgroupsPerGrid;
    case air::ArgumentKind::kDispatchThreadsPerThreadgroup:
      return Role::kFullThreadsPerThreadgroup;
    case air::ArgumentKind::kThreadIndexInThreadgroup:
      return Role::kIndexInThreadgroup;
    case air::ArgumentKind::kThreadIndexInSimdgroup:
      return Role::kIndexInSimdgroup;
    case air::ArgumentKind::kThreadIndexInQuadgroup:
      return Role::kIndexInQuadgroup;
    case air::ArgumentKind::kSimdgroupIndexInThreadgroup:
      return Role::kSimdgroupIndex;
    case air::ArgumentKind::kQuadgroupIndexInThreadgroup:
      return Role::kQuadgroupIndex;
    case air::ArgumentKind::kThreadsPerSimdgroup:
      return Role::kThreadsPerSimdgroup;
    case air::ArgumentKind::kSimdgroupsPerThreadgroup:
      return Role::kSimdgroupsPerThreadgroup;
    case air::ArgumentKind::kQuadgroupsPerThreadgroup:
      return Role::kQuadgroupsPerThreadgroup;
    case air::ArgumentKind::kDispatchSimdgroupsPerThreadgroup:
      return Role::kFullSimdgroupsPerThreadgroup;
    case air::ArgumentKind::kDispatchQuadgroupsPerThreadgroup:
      return Role::kFullQuadgroupsPerThreadgroup;
    default:
      throw pipeline::KernelError(kernel + ": it asks for " + std::string(air::name_of(argument.kind)) +
                                  ", which is not known here");
  }
}

std::vector<lower::support::Parameter> parameters_of(const air::Signature& signature) {
  std::vector<lower::support::Parameter> parameters;
  for (const air::Argument& argument : signature.arguments) {
    lower::support::Parameter parameter;
    parameter.role = role_of(argument, signature.kernel);
    parameter.binding = abi::slot_of(argument.kind, argument.binding);
    parameter.unchanging = argument.kind == air::ArgumentKind::kBuffer && argument.access == air::Access::kRead &&
                           argument.address_space == air::kConstantSpace && argument.buffer_size != 0;
    parameters.push_back(parameter);
  }
  return parameters;
}

// What a thread has of memory for its variables. All threads of a threadgroup have a range of address space together
// (scheduler.cpp).
constexpr std::uint64_t kMostVariableBytes = std::uint64_t{1} << 20;

void check_variables(const llvm::Module& module, const std::string& kernel) {
  std::uint64_t bytes = 0;
  for (const llvm::Function& function : module) {
    for (const llvm::Instruction& instruction : llvm::instructions(function)) {
      const auto* variable = llvm::dyn_cast<llvm::AllocaInst>(&instruction);
      if (variable == nullptr) continue;
      const auto size = variable->getAllocationSize(module.getDataLayout());
      // One whose size only the launch knows is stopped by the stack's guard page.
      if (size && __builtin_add_overflow(bytes, size->getFixedValue(), &bytes)) bytes = UINT64_MAX;
    }
  }
  if (bytes <= kMostVariableBytes) return;
  throw pipeline::KernelError(kernel + ": its variables take " + std::to_string(bytes) +
                              " bytes of a thread; there are " + std::to_string(kMostVariableBytes));
}

// A frame of many pages touches each of them, so that none steps over the guard page.
void probe_stack(llvm::Module& module) {
  for (llvm::Function& function : module) {
    if (!function.isDeclaration()) function.addFnAttr("probe-stack", "inline-asm");
  }
}

std::string options_text(const lower::LoweringOptions& options) {
  std::string text = options.validate ? "validated" : options.force_coroutines ? "coroutines" : "";
  if (options.simdgroups != lower::vectorize::Simdgroups::kNone) {
    text += " simdgroups " + std::to_string(static_cast<int>(options.simdgroups));
  }
  if (options.soon) text += " soon";
  for (const auto& [id, value] : options.constants) text += " " + std::to_string(id) + "=" + std::to_string(value);
  for (const auto& [binding, bytes] : options.known) {
    text += " [" + std::to_string(binding) +
            "]=" + llvm::toHex(llvm::ArrayRef(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()));
  }
  return text;
}

// Names of functions stand in bitcode as they are.
bool calls_tensor_operations(std::span<const std::byte> bitcode) {
  constexpr std::string_view kPrefix = "__tensorops_impl";
  const std::string_view text(reinterpret_cast<const char*>(bitcode.data()), bitcode.size());
  return text.find(kPrefix) != std::string_view::npos;
}

}  // namespace

lower::Lowered lower_module(llvm::Module& module, const std::string& name, const lower::LoweringOptions& options,
                            llvm::TargetMachine& target, lower::support::PassInstrumentation* instrumentation) {
  // The sanitiser alone asks for lines.
  if (!options.validate) llvm::StripDebugInfo(module);
  const air::Signature signature = air::read_signature(module, name);
  check_variables(module, name);
  lower::LoweringOptions how = options;
  how.denormals_are_zero = signature.denorms_disabled;
  lower::Lowered lowered =
      lower::lower_kernel(module, signature.kernel, parameters_of(signature), how, target, instrumentation);
  if (!lowered.refusal.empty()) throw pipeline::KernelError(name + ": " + lowered.refusal);
  return lowered;
}

runtime::CompiledKernel compile_kernel(std::span<const std::byte> bitcode, const std::string& name,
                                       const lower::LoweringOptions& options) {
  llvm::LLVMContext context;
  const std::unique_ptr<llvm::Module> module = air::read_module(context, bitcode, name);
  const auto target = llvm::cantFail(support::host_target().createTargetMachine());
  lower::Lowered lowered = lower_module(*module, name, options, *target);
  probe_stack(*module);
  if (lowered.left_plain) target->setOptLevel(llvm::CodeGenOptLevel::None);
  llvm::orc::SimpleCompiler compile(*target);
  auto object = compile(*module);
  if (!object) throw pipeline::KernelError(name + ": " + llvm::toString(object.takeError()));
  const auto* begin = reinterpret_cast<const std::byte*>((*object)->getBufferStart());
  return {.route = lowered.route,
          .cooperative = lowered.cooperative,
          .not_vectorized = std::move(lowered.not_vectorized),
          .threadgroup = std::move(lowered.threadgroup),
          .points = std::move(lowered.points),
          .validation = std::move(lowered.validation),
          .object = {begin, begin + (*object)->getBufferSize()}};
}

runtime::CompiledKernel cached_kernel(std::span<const std::byte> bitcode, const std::string& name,
                                      const lower::LoweringOptions& options) {
  std::string how = name + "\n" + options_text(options);
  // Other kernels are the same for all Macs.
  if (abi::fragment_order() != abi::FragmentOrder::kQuads && calls_tensor_operations(bitcode)) how += " pairs";
  // Of this library: what lowering makes changes with it.
  static const std::string version = gpu::support::version_of_code(reinterpret_cast<const void*>(&cached_kernel));
  const gpu::cache::CacheKey key(
      {.kind = "air-object", .input = bitcode, .options = how, .target = support::host_name(), .version = version});
  const gpu::support::Blob bytes = gpu::cache::compile_cache().get_or_make(
      key, [&] { return gpu::support::Blob::copy_of(pack(compile_kernel(bitcode, name, options))); });
  if (auto kernel = unpack(bytes.bytes())) return std::move(*kernel);
  return compile_kernel(bitcode, name, options);
}

}  // namespace anymps::metal::engine
