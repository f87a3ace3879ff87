#include "metal/air/signature.h"

#include <llvm/IR/Constants.h>
#include <llvm/IR/DataLayout.h>
#include <llvm/IR/DerivedTypes.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/GlobalVariable.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Metadata.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/Casting.h>

#include <array>
#include <cstdint>
#include <limits>
#include <set>

#include "gpu/support/round_up.h"

namespace anymps::metal::air {
namespace {

struct KindEntry {
  std::string_view name;  // behind "air." in the metadata
  ArgumentKind kind;
  unsigned components;  // most that the parameter may have; 0 for pointers
};

constexpr std::array kKinds = {
    KindEntry{"buffer", ArgumentKind::kBuffer, 0},
    KindEntry{"indirect_buffer", ArgumentKind::kIndirectBuffer, 0},
    KindEntry{"threadgroup_buffer", ArgumentKind::kThreadgroupBuffer, 0},
    KindEntry{"thread_position_in_grid", ArgumentKind::kThreadPositionInGrid, 3},
    KindEntry{"thread_position_in_threadgroup", ArgumentKind::kThreadPositionInThreadgroup, 3},
    KindEntry{"threadgroup_position_in_grid", ArgumentKind::kThreadgroupPositionInGrid, 3},
    KindEntry{"threads_per_grid", ArgumentKind::kThreadsPerGrid, 3},
    KindEntry{"threads_per_threadgroup", ArgumentKind::kThreadsPerThreadgroup, 3},
    KindEntry{"threadgroups_per_grid", ArgumentKind::kThreadgroupsPerGrid, 3},
    KindEntry{"dispatch_threads_per_threadgroup", ArgumentKind::kDispatchThreadsPerThreadgroup, 3},
    KindEntry{"thread_index_in_threadgroup", ArgumentKind::kThreadIndexInThreadgroup, 1},
    KindEntry{"thread_index_in_simdgroup", ArgumentKind::kThreadIndexInSimdgroup, 1},
    KindEntry{"thread_index_in_quadgroup", ArgumentKind::kThreadIndexInQuadgroup, 1},
    KindEntry{"simdgroup_index_in_threadgroup", ArgumentKind::kSimdgroupIndexInThreadgroup, 1},
    KindEntry{"quadgroup_index_in_threadgroup", ArgumentKind::kQuadgroupIndexInThreadgroup, 1},
    KindEntry{"threads_per_simdgroup", ArgumentKind::kThreadsPerSimdgroup, 1},
    KindEntry{"thread_execution_width", ArgumentKind::kThreadsPerSimdgroup, 1},  // Metal 1's word for it
    KindEntry{"simdgroups_per_threadgroup", ArgumentKind::kSimdgroupsPerThreadgroup, 1},
    KindEntry{"quadgroups_per_threadgroup", ArgumentKind::kQuadgroupsPerThreadgroup, 1},
    KindEntry{"dispatch_simdgroups_per_threadgroup", ArgumentKind::kDispatchSimdgroupsPerThreadgroup, 1},
    KindEntry{"dispatch_quadgroups_per_threadgroup", ArgumentKind::kDispatchQuadgroupsPerThreadgroup, 1},
};

// One metadata node, read operand by operand. Any operand may be missing or of another type than the compiler writes.
class NodeReader {
 public:
  NodeReader(const llvm::MDNode& node, std::string_view kernel, std::string where)
      : node_(&node), kernel_(kernel), where_(std::move(where)) {}

  bool done() const { return at_ == node_->getNumOperands(); }
  bool at_text() const { return !done() && llvm::isa_and_nonnull<llvm::MDString>(node_->getOperand(at_).get()); }

  std::string text() {
    if (const auto* string = llvm::dyn_cast_or_null<llvm::MDString>(next())) return string->getString().str();
    refuse("has no text at place " + std::to_string(at_ - 1));
  }
  unsigned number() {
    const auto* constant = llvm::mdconst::dyn_extract_or_null<llvm::ConstantInt>(next());
    if (constant == nullptr) refuse("has no number at place " + std::to_string(at_ - 1));
    const std::uint64_t value = constant->getValue().getLimitedValue();
    if (value > std::numeric_limits<unsigned>::max()) {
      refuse("has a number out of range at place " + std::to_string(at_ - 1));
    }
    return static_cast<unsigned>(value);
  }
  NodeReader node(std::string_view what) {
    if (const auto* inner = llvm::dyn_cast_or_null<llvm::MDNode>(next())) {
      return {*inner, kernel_, where_ + ", " + std::string(what)};
    }
    refuse("has no node at place " + std::to_string(at_ - 1));
  }
  template <typename Global>
  const Global& global() {
    const auto* found = llvm::mdconst::dyn_extract_or_null<Global>(next());
    if (found == nullptr) refuse("has no function or variable at place " + std::to_string(at_ - 1));
    return *found;
  }
  void skip() { next(); }
  unsigned places() const { return node_->getNumOperands(); }

  [[noreturn]] void refuse(const std::string& why) const { throw AirError(kernel_, where_ + " " + why); }

 private:
  const llvm::Metadata* next() {
    if (done()) refuse("ends at place " + std::to_string(at_));
    return node_->getOperand(at_++).get();
  }

  const llvm::MDNode* node_;
  std::string_view kernel_;
  std::string where_;
  unsigned at_ = 0;
};

const KindEntry& read_kind(NodeReader& node, Argument& argument) {
  std::string word = node.text();
  if (word == "air.function_constant") {
    NodeReader predicate = node.node("its function constant");
    argument.predicate = predicate.global<llvm::GlobalVariable>().getName().str();
    predicate.text();  // the type, always bool
    argument.predicate_constant = predicate.text();
    word = node.text();
  }
  for (const KindEntry& entry : kKinds) {
    if (word == "air." + std::string(entry.name)) return entry;
  }
  node.refuse("is of a kind that is not known: `" + word + "`");
}

// Nodes may lead round in a circle.
constexpr unsigned kMostStructDepth = 16;
constexpr std::size_t kMostMembers = 10000;

std::vector<Member> read_members(NodeReader node, std::size_t& read, unsigned depth = 0) {
  if (depth > kMostStructDepth) node.refuse("nests too deeply");
  std::vector<Member> members;
  while (!node.done()) {
    if (++read > kMostMembers) node.refuse("has too many members");
    Member member;
    if (node.at_text()) {
      const std::string key = node.text();
      if (key == "air.indirect_argument") {  // how the member in front is bound
        node.skip();
        continue;
      }
      if (key != "air.struct_type_info") node.refuse("has a key that is not known: `" + key + "`");
      member.members = read_members(node.node("struct"), read, depth + 1);
    }
    member.offset = node.number();
    member.size = node.number();
    member.count = node.number();
    member.type_name = node.text();
    member.name = node.text();
    members.push_back(std::move(member));
  }
  return members;
}

void read_keys(NodeReader& node, Argument& argument) {
  while (!node.done()) {
    const std::string key = node.text();
    if (key == "air.location_index") {
      argument.binding = node.number();
      argument.count = node.number();
    } else if (key == "air.read") {
      argument.access = Access::kRead;
    } else if (key == "air.write") {
      argument.access = Access::kWrite;
    } else if (key == "air.read_write") {
      argument.access = Access::kReadWrite;
    } else if (key == "air.address_space") {
      argument.address_space = node.number();
    } else if (key == "air.buffer_size") {
      argument.buffer_size = node.number();
    } else if (key == "air.arg_type_size") {
      argument.size = node.number();
    } else if (key == "air.arg_type_align_size") {
      argument.alignment = node.number();
    } else if (key == "air.struct_type_info") {
      std::size_t read = 0;
      argument.members = read_members(node.node("struct"), read);
    } else if (key == "air.arg_type_name") {
      argument.type_name = node.text();
    } else if (key == "air.arg_name") {
      argument.name = node.text();
    } else if (key == "air.arg_unused") {
      argument.unused = true;
    } else {
      node.refuse("has a key that is not known: `" + key + "`");
    }
  }
}

// Code that uses the signature takes the parameter's type from it; so it must be what the metadata says.
void check_type(const NodeReader& node, const Argument& argument, const KindEntry& kind, const llvm::Type& type) {
  if (is_bound(argument.kind)) {
    if (!type.isPointerTy() || type.getPointerAddressSpace() != argument.address_space) {
      node.refuse("is no pointer into address space " + std::to_string(argument.address_space));
    }
    const bool threadgroup = argument.kind == ArgumentKind::kThreadgroupBuffer;
    if (threadgroup ? argument.address_space != kThreadgroupSpace
                    : argument.address_space != kDeviceSpace && argument.address_space != kConstantSpace) {
      node.refuse("(" + std::string(name_of(argument.kind)) + ") is in address space " +
                  std::to_string(argument.address_space));
    }
    if (argument.access == Access::kNone) node.refuse("says neither read nor write");
    if (argument.count == 0 || argument.binding >= kMaxBindings || argument.count > kMaxBindings - argument.binding) {
      node.refuse("has binding " + std::to_string(argument.binding) + ", count " + std::to_string(argument.count) +
                  "; there are " + std::to_string(kMaxBindings));
    }
    return;
  }
  const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(&type);
  const unsigned components = vector != nullptr ? vector->getNumElements() : 1;
  const llvm::Type* element = type.getScalarType();
  if (!(element->isIntegerTy(16) || element->isIntegerTy(32)) || components > kind.components ||
      llvm::isa<llvm::ScalableVectorType>(type)) {
    node.refuse("(" + std::string(kind.name) + ") has a type that no such argument has");
  }
}

// Here or in a function that it is handed to.
bool is_compared_with_null(const llvm::Argument& parameter, std::set<const llvm::Argument*>& seen) {
  if (!seen.insert(&parameter).second) return false;
  for (const llvm::Use& use : parameter.uses()) {
    if (const auto* comparison = llvm::dyn_cast<llvm::ICmpInst>(use.getUser())) {
      if (llvm::isa<llvm::ConstantPointerNull>(comparison->getOperand(1 - use.getOperandNo()))) return true;
    } else if (const auto* call = llvm::dyn_cast<llvm::CallInst>(use.getUser())) {
      const llvm::Function* callee = call->getCalledFunction();
      if (callee == nullptr || !call->isArgOperand(&use) || call->getArgOperandNo(&use) >= callee->arg_size()) continue;
      if (is_compared_with_null(*callee->getArg(call->getArgOperandNo(&use)), seen)) return true;
    }
  }
  return false;
}

Argument read_argument(NodeReader node, const llvm::Function& function) {
  Argument argument;
  argument.parameter = node.number();
  if (argument.parameter >= function.arg_size()) node.refuse("is of a parameter that the function does not have");
  const KindEntry& kind = read_kind(node, argument);
  argument.kind = kind.kind;
  read_keys(node, argument);
  if (argument.kind == ArgumentKind::kBuffer && argument.address_space == kThreadgroupSpace) {
    argument.kind = ArgumentKind::kThreadgroupBuffer;
  }
  const llvm::Argument& parameter = *function.getArg(argument.parameter);
  check_type(node, argument, kind, *parameter.getType());
  std::set<const llvm::Argument*> seen;
  argument.optional = is_compared_with_null(parameter, seen);
  return argument;
}

void read_arguments(NodeReader list, const llvm::Function& function, Signature& signature) {
  for (unsigned i = 0; !list.done(); ++i) {
    Argument argument = read_argument(list.node("argument " + std::to_string(i)), function);
    if (argument.parameter != i) list.refuse("does not go through the parameters in order");
    signature.arguments.push_back(std::move(argument));
  }
  if (signature.arguments.size() != function.arg_size()) {
    list.refuse("has " + std::to_string(signature.arguments.size()) + " arguments; the function has " +
                std::to_string(function.arg_size()));
  }
}

void read_kernel(NodeReader node, const llvm::Function& function, Signature& signature) {
  node.global<llvm::Function>();
  if (function.isDeclaration() || function.isVarArg() || !function.getReturnType()->isVoidTy()) {
    node.refuse("is no kernel: it has no body, returns a value or takes any number of arguments");
  }
  if (node.node("outputs").places() != 0) node.refuse("has outputs");
  read_arguments(node.node("arguments"), function, signature);
  while (!node.done()) {
    NodeReader limit = node.node("limits");
    const std::string key = limit.text();
    if (key != "air.max_work_group_size") limit.refuse("has a key that is not known: `" + key + "`");
    signature.max_total_threads = limit.number();
  }
}

void read_constants(const llvm::Module& module, Signature& signature) {
  std::set<std::string, std::less<>> listed;
  if (const llvm::NamedMDNode* list = module.getNamedMetadata("air.function_constants")) {
    for (const llvm::MDNode* operand : list->operands()) {
      NodeReader node(*operand, signature.kernel, "!air.function_constants");
      FunctionConstant constant;
      constant.global = node.global<llvm::GlobalVariable>().getName().str();
      constant.type = node.text();
      constant.name = node.text();
      constant.id = node.number();
      constant.required = node.number() != 0;
      listed.insert(constant.global);
      signature.constants.push_back(std::move(constant));
    }
  }
  for (const llvm::GlobalVariable& global : module.globals()) {
    if (global.getName().contains(".MTL_FC_INIT_") && !listed.contains(std::string_view(global.getName()))) {
      throw AirError(signature.kernel, "!air.function_constants does not list `" + global.getName().str() + "`");
    }
  }
}

void read_compile_options(const llvm::Module& module, Signature& signature) {
  const llvm::NamedMDNode* list = module.getNamedMetadata("air.compile_options");
  if (list == nullptr) return;
  for (const llvm::MDNode* operand : list->operands()) {
    NodeReader node(*operand, signature.kernel, "!air.compile_options");
    const std::string key = node.text();
    if (key == "air.compile.denorms_disable") {
      signature.denorms_disabled = true;
    } else if (key == "air.compile.fast_math_disable") {
      signature.fast_math_disabled = true;
    } else if (key != "air.compile.denorms_enable" && key != "air.compile.fast_math_enable" &&
               key != "air.compile.framebuffer_fetch_enable" && key != "air.compile.framebuffer_fetch_disable") {
      node.refuse("has a key that is not known: `" + key + "`");
    }
  }
}

Version read_version(NodeReader node) {
  Version version;
  version.major = node.number();
  version.minor = node.number();
  version.patch = node.number();
  return version;
}

void read_versions(const llvm::Module& module, Signature& signature) {
  if (const auto* air = module.getNamedMetadata("air.version"); air != nullptr && air->getNumOperands() > 0) {
    signature.air = read_version({*air->getOperand(0), signature.kernel, "!air.version"});
  }
  const auto* language = module.getNamedMetadata("air.language_version");
  if (language == nullptr || language->getNumOperands() == 0) return;
  NodeReader node(*language->getOperand(0), signature.kernel, "!air.language_version");
  if (const std::string name = node.text(); name != "Metal") node.refuse("names another language: `" + name + "`");
  signature.metal = read_version(node);
}

std::size_t threadgroup_bytes(const llvm::Module& module, std::string_view kernel) {
  // More than any GPU has; keeps the sum of hostile types from wrapping around.
  constexpr std::uint64_t kMost = 1U << 30U;
  std::uint64_t bytes = 0;
  for (const llvm::GlobalVariable& global : module.globals()) {
    if (global.getAddressSpace() != kThreadgroupSpace) continue;
    const std::uint64_t size = module.getDataLayout().getTypeAllocSize(global.getValueType()).getFixedValue();
    const std::uint64_t alignment = module.getDataLayout().getPreferredAlign(&global).value();
    if (size > kMost || alignment > kMost || bytes > kMost) {
      throw AirError(kernel, "its threadgroup memory is larger than any GPU's");
    }
    bytes = gpu::support::round_up(bytes, alignment) + size;
  }
  return static_cast<std::size_t>(bytes);
}

}  // namespace

std::string_view name_of(ArgumentKind kind) {
  for (const KindEntry& entry : kKinds) {
    if (entry.kind == kind) return entry.name;
  }
  return "unknown";
}

std::optional<ArgumentKind> builtin_named(std::string_view name) {
  for (const KindEntry& entry : kKinds) {
    if (entry.name == name && !is_bound(entry.kind)) return entry.kind;
  }
  return std::nullopt;
}

unsigned most_components(ArgumentKind kind) {
  for (const KindEntry& entry : kKinds) {
    if (entry.kind == kind) return entry.components;
  }
  return 0;
}

std::string_view name_of(Access access) {
  switch (access) {
    case Access::kRead:
      return "read";
    case Access::kWrite:
      return "write";
    case Access::kReadWrite:
      return "read_write";
    case Access::kNone:
      break;
  }
  return "none";
}

Signature read_signature(const llvm::Module& module, std::string_view kernel) {
  Signature signature;
  signature.kernel = kernel;
  const llvm::NamedMDNode* kernels = module.getNamedMetadata("air.kernel");
  if (kernels == nullptr) throw AirError(kernel, "its module has no !air.kernel");
  for (const llvm::MDNode* operand : kernels->operands()) {
    const llvm::Function& function = NodeReader(*operand, kernel, "!air.kernel").global<llvm::Function>();
    if (std::string_view(function.getName()) != kernel) continue;
    read_kernel({*operand, kernel, "!air.kernel"}, function, signature);
    read_constants(module, signature);
    read_compile_options(module, signature);
    read_versions(module, signature);
    signature.static_threadgroup_bytes = threadgroup_bytes(module, kernel);
    return signature;
  }
  throw AirError(kernel, "!air.kernel of its module does not name it");
}

}  // namespace anymps::metal::air
