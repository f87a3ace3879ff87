#include "metal/frontend/one_kernel.h"

#include <llvm/Analysis/TargetLibraryInfo.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/Bitcode/BitcodeWriter.h>
#include <llvm/Demangle/Demangle.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/PassInstrumentation.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Transforms/IPO/AlwaysInliner.h>
#include <llvm/Transforms/IPO/GlobalDCE.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/InferAddressSpaces.h>
#include <llvm/Transforms/Scalar/SROA.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>

#include <map>
#include <memory>
#include <set>
#include <stdexcept>

#include "metal/frontend/annotations.h"
#include "metal/frontend/large_stack.h"
#include "metal/frontend/limits.h"
#include "metal/frontend/source.h"

namespace anymps::metal::frontend {
namespace {

constexpr llvm::StringLiteral kConstructors = "llvm.global_ctors";

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

// Of `!air.kernel` the node of this one.
void keep_description(llvm::Module& module, const llvm::Function& entry) {
  llvm::NamedMDNode* all = module.getNamedMetadata("air.kernel");
  llvm::MDNode* own = nullptr;
  for (llvm::MDNode* node : all->operands()) {
    const auto* function = llvm::mdconst::dyn_extract_or_null<llvm::Function>(node->getOperand(0));
    if (function == &entry) own = node;
  }
  all->clearOperands();
  if (own != nullptr) all->addOperand(own);
}

// Of `!air.function_constants` those that are `wanted`.
template <typename Wanted>
void keep_constants(llvm::Module& module, const Wanted& wanted) {
  llvm::NamedMDNode* all = module.getNamedMetadata("air.function_constants");
  if (all == nullptr) return;
  llvm::SmallVector<llvm::MDNode*> own;
  for (llvm::MDNode* node : all->operands()) {
    const auto* global = llvm::mdconst::dyn_extract_or_null<llvm::GlobalVariable>(node->getOperand(0));
    if (global != nullptr && wanted(*global)) own.push_back(node);
  }
  all->clearOperands();
  for (llvm::MDNode* node : own) all->addOperand(node);
}

class Passes {
 public:
  explicit Passes(const llvm::Module& module) : builder_(nullptr, tuning(), std::nullopt, &instrumentation_) {
    instrumentation_.registerShouldRunOptionalPassCallback(may_run);
    // There is no C library: what LLVM would call of it has no place in AIR.
    llvm::TargetLibraryInfoImpl library((llvm::Triple(module.getTargetTriple())));
    library.disableAllFunctions();
    functions_.registerPass([&] { return llvm::TargetLibraryAnalysis(library); });
    builder_.registerModuleAnalyses(modules_);
    builder_.registerCGSCCAnalyses(components_);
    builder_.registerFunctionAnalyses(functions_);
    builder_.registerLoopAnalyses(loops_);
    builder_.crossRegisterProxies(loops_, functions_, components_, modules_);
  }

  void inline_calls(llvm::Module& module) {
    llvm::ModulePassManager passes;
    passes.addPass(llvm::AlwaysInlinerPass());
    passes.addPass(llvm::GlobalDCEPass());
    llvm::FunctionPassManager promote;
    promote.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));
    promote.addPass(llvm::EarlyCSEPass());
    promote.addPass(llvm::InferAddressSpacesPass(0));
    passes.addPass(llvm::createModuleToFunctionPassAdaptor(std::move(promote)));
    passes.run(module, modules_);
  }

  void optimise(llvm::Module& module) {
    llvm::ModulePassManager passes;
    // Functions that were given to others by a pointer: by now the calls name them.
    passes.addPass(llvm::AlwaysInlinerPass());
    passes.addPass(llvm::GlobalDCEPass());
    llvm::FunctionPassManager simplify;
    simplify.addPass(
        builder_.buildFunctionSimplificationPipeline(llvm::OptimizationLevel::O2, llvm::ThinOrFullLTOPhase::None));
    simplify.addPass(llvm::InferAddressSpacesPass(0));
    passes.addPass(llvm::createModuleToFunctionPassAdaptor(std::move(simplify)));
    passes.addPass(llvm::GlobalDCEPass());
    passes.run(module, modules_);
  }

 private:
  // What is not needed for the result to be right is left out once the time is over, and what takes more than its share
  // of it where a function is long.
  static bool may_run(llvm::StringRef pass, llvm::Any unit) {
    constexpr std::size_t kManyBlocks = 4096;
    if (seconds_used() > kMostSeconds) return false;
    if (pass != "JumpThreadingPass" && pass != "CorrelatedValuePropagationPass" && pass != "GVNPass") return true;
    const auto* function = llvm::any_cast<const llvm::Function*>(&unit);
    return function == nullptr || (*function)->size() <= kManyBlocks;
  }

  static llvm::PipelineTuningOptions tuning() {
    llvm::PipelineTuningOptions options;
    options.LoopVectorization = false;
    options.SLPVectorization = false;
    return options;
  }

  llvm::LoopAnalysisManager loops_;
  llvm::FunctionAnalysisManager functions_;
  llvm::CGSCCAnalysisManager components_;
  llvm::ModuleAnalysisManager modules_;
  llvm::PassInstrumentationCallbacks instrumentation_;
  llvm::PassBuilder builder_;
};

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
      if (size > kMostInstructions) break;
    }
    return known_[&function] = size;
  }

 private:
  std::map<const llvm::Function*, std::size_t> known_;
};

void check_size(const llvm::Function& entry) {
  if (InlinedSizes().of(entry) <= kMostInstructions) return;
  throw std::runtime_error("it has more than " + std::to_string(kMostInstructions) +
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
      if (callee->isDeclaration() && !callee->isIntrinsic() && !callee->getName().starts_with("air.")) {
        throw std::runtime_error("undefined symbol: " + llvm::demangle(callee->getName()));
      }
    }
  }
}

// Throws std::runtime_error for what extract_kernel() throws CompileError for. `place` is set to the kernel's.
std::vector<std::byte> extract_here(std::span<const std::byte> program, const std::string& name, std::string& place) {
  llvm::LLVMContext context;
  const llvm::StringRef bytes(reinterpret_cast<const char*>(program.data()), program.size());
  auto read = llvm::getLazyBitcodeModule(llvm::MemoryBufferRef(bytes, "program"), context);
  if (!read) throw std::runtime_error(llvm::toString(read.takeError()));
  llvm::Module& module = **read;
  check(module.materializeMetadata());
  llvm::Function* entry = module.getFunction(name);
  if (entry == nullptr) throw std::runtime_error("there is no such kernel");
  place = entry->getFnAttribute(kPlaceAttribute).getValueAsString().str();
  entry->removeFnAttr(kPlaceAttribute);

  Needed needed;
  needed.add(*entry);
  if (llvm::GlobalVariable* constructors = module.getNamedGlobal(kConstructors)) needed.add(*constructors);
  needed.follow();
  keep_description(module, *entry);
  keep_constants(module, [&](const llvm::GlobalVariable& global) { return needed.has(global); });
  drop_unneeded(module.functions(), needed);
  drop_unneeded(module.globals(), needed);

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
  Passes passes(module);
  check_size(*entry);
  passes.inline_calls(module);
  check_size(*entry);  // functions that were given to others by a pointer are known by now
  passes.optimise(module);
  if (seconds_used() > kMostSeconds) {
    throw std::runtime_error("it takes longer to optimise than " + std::to_string(static_cast<int>(kMostSeconds)) +
                             " seconds");
  }
  check_calls(module);
  keep_constants(module, [](const llvm::GlobalVariable&) { return true; });  // those that are still there
  say_what_does_not_alias(*entry);

  std::string out;
  llvm::raw_string_ostream stream(out);
  llvm::WriteBitcodeToFile(module, stream);
  stream.flush();
  const auto* begin = reinterpret_cast<const std::byte*>(out.data());
  return {begin, begin + out.size()};
}

}  // namespace

std::vector<std::byte> extract_kernel(std::span<const std::byte> program, const std::string& name) {
  std::vector<std::byte> air;
  std::string place = "program_source";
  try {
    on_large_stack([&] { air = extract_here(program, name, place); });
  } catch (const std::runtime_error& error) {
    const auto [where, line] = llvm::StringRef(place).split('\n');
    throw CompileError((where + ": error: kernel '" + name + "': " + error.what() + "\n" + line).str());
  }
  return air;
}

}  // namespace anymps::metal::frontend
