#include "metal/frontend/extract_kernel.h"

#include <llvm/Analysis/ValueTracking.h>
#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/Bitcode/BitcodeWriter.h>
#include <llvm/Demangle/Demangle.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/raw_ostream.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <map>
#include <memory>
#include <set>
#include <stdexcept>
#include <thread>

#include "metal/air/external_references.h"
#include "metal/frontend/emit/passes.h"
#include "metal/frontend/source.h"
#include "metal/frontend/support/annotations.h"
#include "metal/frontend/support/large_stack.h"
#include "metal/frontend/support/limits.h"

namespace anymps::metal::frontend {
namespace {

constexpr llvm::StringLiteral kConstructors = "llvm.global_ctors";
constexpr llvm::StringLiteral kKernels = "air.kernel";
constexpr llvm::StringLiteral kFunctionConstants = "air.function_constants";

void check(llvm::Error error) {
  if (error) throw std::runtime_error(llvm::toString(std::move(error)));
}

// Everything that is used from some functions on. Bodies are read as they are reached.
class Needed {
 public:
  void add(llvm::GlobalValue& value) {
    if (!found_.insert(&value).second) return;
    open_.push_back(&value);
  }
  void follow() {
    while (!open_.empty()) {
      llvm::GlobalValue* value = open_.pop_back_val();
      check(value->materialize());
      if (auto* global = llvm::dyn_cast<llvm::GlobalVariable>(value)) {
        if (global->hasInitializer()) see(*global->getInitializer());
      } else if (auto* function = llvm::dyn_cast<llvm::Function>(value)) {
        for (const llvm::Instruction& instruction : llvm::instructions(*function)) {
          for (const llvm::Use& operand : instruction.operands()) {
            if (auto* constant = llvm::dyn_cast<llvm::Constant>(operand.get())) see(*constant);
          }
        }
      }
    }
  }
  bool has(const llvm::GlobalValue& value) const { return found_.contains(&value); }

 private:
  void see(llvm::Constant& constant) {
    if (auto* global = llvm::dyn_cast<llvm::GlobalValue>(&constant)) return add(*global);
    if (!seen_.insert(&constant).second) return;
    for (llvm::Use& operand : constant.operands()) see(*llvm::cast<llvm::Constant>(operand.get()));
  }

  std::set<const llvm::GlobalValue*> found_;
  std::set<const llvm::Constant*> seen_;
  llvm::SmallVector<llvm::GlobalValue*> open_;
};

template <typename Range>
void drop_unneeded(Range&& values, const Needed& needed) {
  for (llvm::GlobalValue& value : llvm::make_early_inc_range(values)) {
    if (needed.has(value)) continue;
    value.replaceAllUsesWith(llvm::PoisonValue::get(value.getType()));
    if (auto* function = llvm::dyn_cast<llvm::Function>(&value)) function->deleteBody();
    value.eraseFromParent();
  }
}

// Of what `list` describes (`!air.kernel`, `!air.function_constants`) the nodes of those that are `wanted`.
template <typename Wanted>
void keep_described(llvm::Module& module, llvm::StringRef list, const Wanted& wanted) {
  llvm::NamedMDNode* all = module.getNamedMetadata(list);
  if (all == nullptr) return;
  llvm::SmallVector<llvm::MDNode*> own;
  for (llvm::MDNode* node : all->operands()) {
    const auto* value = llvm::mdconst::dyn_extract_or_null<llvm::GlobalValue>(node->getOperand(0));
    if (value != nullptr && wanted(*value)) own.push_back(node);
  }
  all->clearOperands();
  for (llvm::MDNode* node : own) all->addOperand(node);
}

std::unique_ptr<llvm::Module> read_lazily(std::span<const std::byte> program, llvm::LLVMContext& context) {
  const llvm::StringRef bytes(reinterpret_cast<const char*>(program.data()), program.size());
  auto read = llvm::getLazyBitcodeModule(llvm::MemoryBufferRef(bytes, "program"), context);
  if (!read) throw std::runtime_error(llvm::toString(read.takeError()));
  check((*read)->materializeMetadata());
  return std::move(*read);
}

// Drops what none of `entries` needs.
void keep_needed(llvm::Module& module, std::span<llvm::Function* const> entries) {
  Needed needed;
  for (llvm::Function* entry : entries) needed.add(*entry);
  if (llvm::GlobalVariable* constructors = module.getNamedGlobal(kConstructors)) needed.add(*constructors);
  needed.follow();
  const auto wanted = [&](const llvm::GlobalValue& value) { return needed.has(value); };
  keep_described(module, kKernels, wanted);
  keep_described(module, kFunctionConstants, wanted);
  drop_unneeded(module.functions(), needed);
  drop_unneeded(module.globals(), needed);
}

std::vector<std::byte> bitcode_of(const llvm::Module& module) {
  std::string out;
  llvm::raw_string_ostream stream(out);
  llvm::WriteBitcodeToFile(module, stream);
  stream.flush();
  const auto* begin = reinterpret_cast<const std::byte*>(out.data());
  return {begin, begin + out.size()};
}

// Metal's buffers do not overlap: each is a scope of its own, as Apple's compiler says it.
void say_what_does_not_alias(llvm::Function& entry) {
  llvm::MDBuilder builder(entry.getContext());
  llvm::MDNode* domain = builder.createAnonymousAliasScopeDomain("air-alias-scopes(" + entry.getName().str() + ")");
  std::vector<llvm::MDNode*> scopes(entry.arg_size());
  for (llvm::Argument& argument : entry.args()) {
    if (!argument.getType()->isPointerTy()) continue;
    scopes[argument.getArgNo()] =
        builder.createAnonymousAliasScope(domain, "air-alias-scope-arg(" + std::to_string(argument.getArgNo()) + ")");
  }
  for (llvm::Instruction& instruction : llvm::instructions(entry)) {
    const llvm::Value* pointer = llvm::getLoadStorePointerOperand(&instruction);
    const auto* argument =
        pointer == nullptr ? nullptr : llvm::dyn_cast<llvm::Argument>(llvm::getUnderlyingObject(pointer));
    if (argument == nullptr) continue;
    llvm::SmallVector<llvm::Metadata*> others;
    for (const llvm::Argument& other : entry.args()) {
      if (&other != argument && scopes[other.getArgNo()] != nullptr) others.push_back(scopes[other.getArgNo()]);
    }
    llvm::LLVMContext& context = entry.getContext();
    instruction.setMetadata(llvm::LLVMContext::MD_alias_scope,
                            llvm::MDNode::get(context, {scopes[argument->getArgNo()]}));
    if (!others.empty()) instruction.setMetadata(llvm::LLVMContext::MD_noalias, llvm::MDNode::get(context, others));
  }
}

// How many instructions a function has once all that it calls is inlined, up to more than there may be.
class InlinedSizes {
 public:
  std::size_t of(const llvm::Function& function) {
    const auto [known, is_new] = known_.try_emplace(&function, 0);
    if (!is_new) return known->second;  // 0 within a function that calls itself, which is not inlined into itself
    std::size_t size = 0;
    for (const llvm::Instruction& instruction : llvm::instructions(function)) {
      const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
      const llvm::Function* callee = call == nullptr ? nullptr : call->getCalledFunction();
      size += callee == nullptr || callee->isDeclaration() ? 1 : of(*callee);
      if (size > support::kMostInstructions) break;
    }
    return known_[&function] = size;
  }

 private:
  std::map<const llvm::Function*, std::size_t> known_;
};

void check_size(const llvm::Function& entry) {
  if (InlinedSizes().of(entry) <= support::kMostInstructions) return;
  throw std::runtime_error("it has more than " + std::to_string(support::kMostInstructions) +
                           " instructions once the functions that it calls are inlined");
}

// Functions that call themselves are left, as Apple's compiler leaves them: PyTorch's have some.
void check_calls(const llvm::Module& module) {
  for (const llvm::Function& function : module) {
    for (const llvm::Instruction& instruction : llvm::instructions(function)) {
      const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
      if (call == nullptr) continue;
      const llvm::Function* callee = call->getCalledFunction();
      if (callee == nullptr) throw std::runtime_error("it calls a function by a pointer, which Metal's kernels cannot");
      if (callee->isDeclaration() && !callee->isIntrinsic() && !air::is_external_function(callee->getName())) {
        throw std::runtime_error("undefined symbol: " + llvm::demangle(callee->getName()));
      }
    }
  }
}

// Throws std::runtime_error for what extract_kernel() throws CompileError for. `place` is set to the kernel's.
std::vector<std::byte> extract_here(std::span<const std::byte> program, const std::string& name, std::string& place) {
  llvm::LLVMContext context;
  const std::unique_ptr<llvm::Module> read = read_lazily(program, context);
  llvm::Module& module = *read;
  llvm::Function* entry = module.getFunction(name);
  if (entry == nullptr) throw std::runtime_error("there is no such kernel");
  place = entry->getFnAttribute(support::kPlaceAttribute).getValueAsString().str();
  entry->removeFnAttr(support::kPlaceAttribute);
  keep_needed(module, std::span(&entry, 1));

  for (llvm::Function& function : module) {
    if (function.isDeclaration() || &function == entry || function.getName().starts_with("_GLOBAL__sub_I")) continue;
    function.setLinkage(llvm::GlobalValue::InternalLinkage);
    function.removeFnAttr(llvm::Attribute::NoInline);
    function.removeFnAttr(llvm::Attribute::OptimizeNone);
    function.addFnAttr(llvm::Attribute::AlwaysInline);
  }
  for (llvm::GlobalVariable& global : module.globals()) {
    if (!global.isDeclaration() && global.getName() != kConstructors)
      global.setLinkage(llvm::GlobalValue::InternalLinkage);
  }
  module.setModuleIdentifier(name);
  module.setSourceFileName(name);
  emit::Passes passes(module);
  check_size(*entry);
  passes.inline_calls(module);
  check_size(*entry);  // functions that were given to others by a pointer are known by now
  passes.optimise(module);
  if (support::seconds_used() > support::kMostSeconds) {
    throw std::runtime_error("it takes longer to optimise than " +
                             std::to_string(static_cast<int>(support::kMostSeconds)) + " seconds");
  }
  check_calls(module);
  air::refuse_external_references(module);
  keep_described(module, kFunctionConstants, [](const llvm::GlobalValue&) { return true; });  // that are still there
  say_what_does_not_alias(*entry);
  return bitcode_of(module);
}

// A program of these kernels alone. What makes each of them by itself then reads a small part of the whole.
std::vector<std::byte> part_of(std::span<const std::byte> program, std::span<const std::string> names) {
  llvm::LLVMContext context;
  const std::unique_ptr<llvm::Module> module = read_lazily(program, context);
  llvm::SmallVector<llvm::Function*> entries;
  for (const std::string& name : names) {
    if (llvm::Function* entry = module->getFunction(name)) entries.push_back(entry);
  }
  keep_needed(*module, entries);
  return bitcode_of(*module);
}

// What came of one kernel.
struct Extracted {
  std::vector<std::byte> air;
  std::exception_ptr failure;
};

void extract_part(std::span<const std::byte> program, std::span<const std::string> names,
                  std::span<Extracted> results) {
  std::vector<std::byte> part;
  try {
    support::on_large_stack([&] { part = part_of(program, names); });
  } catch (...) {
    results.front().failure = std::current_exception();
    return;
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    try {
      results[i].air = extract_kernel(part, names[i]);
    } catch (...) {
      results[i].failure = std::current_exception();
      return;  // of the kernels behind it nobody hears
    }
  }
}

}  // namespace

std::vector<std::byte> extract_kernel(std::span<const std::byte> program, const std::string& name) {
  std::vector<std::byte> air;
  std::string place = "program_source";
  try {
    support::on_large_stack([&] { air = extract_here(program, name, place); });
  } catch (const std::runtime_error& error) {
    const auto [where, line] = llvm::StringRef(place).split('\n');
    throw CompileError((where + ": error: kernel '" + name + "': " + error.what() + "\n" + line).str());
  }
  return air;
}

std::vector<std::vector<std::byte>> extract_kernels(std::span<const std::byte> program,
                                                    std::span<const std::string> names) {
  // To read a program takes as long as it is, whatever is needed of it: one of 700 kernels 0.07 s, as long as to
  // optimise one of them.
  constexpr std::size_t kPart = 16;
  std::vector<Extracted> results(names.size());
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t begin = next.fetch_add(kPart); begin < names.size(); begin = next.fetch_add(kPart)) {
      const std::size_t count = std::min(kPart, names.size() - begin);
      extract_part(program, names.subspan(begin, count), std::span(results).subspan(begin, count));
    }
  };
  {
    const std::size_t parts = (names.size() + kPart - 1) / kPart;
    std::vector<std::jthread> helpers;
    for (std::size_t i = 1; i < std::min<std::size_t>(std::thread::hardware_concurrency(), parts); ++i) {
      helpers.emplace_back(work);
    }
    work();
  }
  std::vector<std::vector<std::byte>> modules;
  for (Extracted& result : results) {
    if (result.failure) std::rethrow_exception(result.failure);
    modules.push_back(std::move(result.air));
  }
  return modules;
}

}  // namespace anymps::metal::frontend
