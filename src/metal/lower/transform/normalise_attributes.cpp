#include "metal/lower/transform/normalise_attributes.h"

#include <llvm/IR/AttributeMask.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>

#include <algorithm>

#include "metal/air/signature.h"

namespace anymps::metal::lower::transform {

namespace {

// Named ones say how to compute ("no-nans-fp-math"), or else to what a function is instrumented, probed or patched.
void drop_attributes(llvm::Function& function) {
  llvm::AttributeMask dropped;
  for (const llvm::Attribute attribute : function.getAttributes().getFnAttrs()) {
    if (attribute.isStringAttribute() && !attribute.getKindAsString().contains("math")) {
      dropped.addAttribute(attribute.getKindAsString());
    }
  }
  for (const llvm::Attribute::AttrKind kind :
       {llvm::Attribute::Naked, llvm::Attribute::PresplitCoroutine, llvm::Attribute::SafeStack,
        llvm::Attribute::ShadowCallStack, llvm::Attribute::StackProtect, llvm::Attribute::StackProtectReq,
        llvm::Attribute::StackProtectStrong}) {
    dropped.addAttribute(kind);
  }
  function.removeFnAttrs(dropped);
  function.clearGC();
  if (function.hasPersonalityFn()) function.setPersonalityFn(nullptr);
}

}  // namespace

void keep_names_apart(llvm::Module& module) {
  const auto rename = [](llvm::GlobalValue& value) {
    const bool is_its_own = !value.isDeclaration() && !value.getName().starts_with("llvm.");
    if (is_its_own) value.setName(llvm::Twine(llvm::StringRef(kOwnPrefix)) + value.getName());
  };
  for (llvm::Function& function : module) rename(function);
  for (llvm::GlobalVariable& variable : module.globals()) rename(variable);
}

void normalise_attributes(llvm::Module& module, llvm::Function* kernel) {
  for (llvm::Function& function : module) {
    drop_attributes(function);
    function.setCallingConv(llvm::CallingConv::C);
    for (llvm::User* user : function.users()) {
      if (auto* call = llvm::dyn_cast<llvm::CallInst>(user)) call->setCallingConv(llvm::CallingConv::C);
    }
    if (function.isDeclaration() || &function == kernel || function.getName().contains("_GLOBAL__sub_I")) continue;
    function.setLinkage(llvm::GlobalValue::InternalLinkage);
    function.removeFnAttr(llvm::Attribute::NoInline);
    function.removeFnAttr(llvm::Attribute::OptimizeNone);
    function.addFnAttr(llvm::Attribute::AlwaysInline);
  }
}

void trust_no_vector_alignment(llvm::Module& module) {
  const auto relax = [&](auto& access, llvm::Type* type) {
    if (access.getPointerAddressSpace() == 0) return;
    const llvm::Align element = module.getDataLayout().getABITypeAlign(type->getScalarType());
    access.setAlignment(std::min(access.getAlign(), element));
  };
  for (llvm::Function& function : module) {
    for (llvm::Instruction& instruction : llvm::instructions(function)) {
      if (auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction)) {
        relax(*load, load->getType());
      } else if (auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction)) {
        relax(*store, store->getValueOperand()->getType());
      } else if (auto* set = llvm::dyn_cast<llvm::MemIntrinsic>(&instruction)) {
        // Of what is copied or set as a whole, nothing says whether it has vectors.
        if (set->getDestAddressSpace() != 0) set->setDestAlignment(llvm::Align(1));
        auto* copy = llvm::dyn_cast<llvm::MemTransferInst>(set);
        if (copy != nullptr && copy->getSourceAddressSpace() != 0) copy->setSourceAlignment(llvm::Align(1));
      }
    }
  }
}

void keep_threadgroup_variables(llvm::Module& module) {
  for (llvm::GlobalVariable& global : module.globals()) {
    if (global.getAddressSpace() == air::kThreadgroupSpace) global.setLinkage(llvm::GlobalValue::ExternalLinkage);
  }
}

void take_denormals_for_zero(llvm::Module& module) {
  for (llvm::Function& function : module) {
    if (function.isDeclaration()) continue;
    function.addFnAttr("denormal-fp-math-f32", "preserve-sign,preserve-sign");
    function.addFnAttr("denormal-fp-math", "dynamic,dynamic");
  }
}

void use_whole_registers(llvm::Module& module) {
  for (llvm::Function& function : module) function.addFnAttr("prefer-vector-width", "512");
}

}  // namespace anymps::metal::lower::transform
