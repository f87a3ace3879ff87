#include "metal/frontend/emit/kernel_metadata.h"

#include <llvm/IR/Constants.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Metadata.h>
#include <llvm/IR/Module.h>

#include <string>

#include "metal/frontend/support/annotations.h"

namespace anymps::metal::frontend::emit {
namespace {

// AIR 2.6, which came with Metal 3.1 and is what PyTorch ships.
constexpr unsigned kAirVersion[] = {2, 6, 0};

class Nodes {
 public:
  explicit Nodes(llvm::LLVMContext& context) : context_(context) {}
  llvm::Metadata* text(llvm::StringRef text) { return llvm::MDString::get(context_, text); }
  llvm::Metadata* number(std::uint64_t value) {
    return llvm::ConstantAsMetadata::get(llvm::ConstantInt::get(llvm::Type::getInt32Ty(context_), value));
  }
  llvm::Metadata* truth(bool value) {
    return llvm::ConstantAsMetadata::get(llvm::ConstantInt::getBool(context_, value));
  }
  llvm::MDNode* node(llvm::ArrayRef<llvm::Metadata*> operands) { return llvm::MDNode::get(context_, operands); }

 private:
  llvm::LLVMContext& context_;
};

class EntryWriter {
 public:
  explicit EntryWriter(llvm::Module& module) : module_(module), nodes_(module.getContext()) {}

  void write(const sema::KernelDeclaration& kernel, const std::string& name) {
    llvm::Function* body = module_.getFunction(kernel.function);
    llvm::SmallVector<llvm::Type*> types;
    for (const sema::KernelParameter& parameter : kernel.parameters) types.push_back(type_of(parameter));
    // A function of the program's may have the name already.
    if (llvm::Function* other = module_.getFunction(name)) other->setName(name + ".of_source");
    auto* entry =
        llvm::Function::Create(llvm::FunctionType::get(llvm::Type::getVoidTy(module_.getContext()), types, false),
                               llvm::GlobalValue::ExternalLinkage, name, module_);
    entry->addFnAttr(llvm::Attribute::NoUnwind);
    entry->addFnAttr(llvm::Attribute::Convergent);
    entry->addFnAttr(support::kPlaceAttribute, kernel.place);
    llvm::IRBuilder<> b(llvm::BasicBlock::Create(module_.getContext(), "entry", entry));
    llvm::SmallVector<llvm::Value*> arguments;
    for (unsigned i = 0; i < entry->arg_size(); ++i) {
      llvm::Argument& argument = *entry->getArg(i);
      argument.setName(kernel.parameters[i].name);
      if (air::is_bound(kernel.parameters[i].kind))
        argument.addAttr(llvm::Attribute::get(b.getContext(), "air-buffer-no-alias"));
      arguments.push_back(passed(b, argument, *body, i));
    }
    b.CreateCall(body, arguments)->setAttributes(body->getAttributes());
    b.CreateRetVoid();
    describe(kernel, *entry);
  }

 private:
  llvm::Type* type_of(const sema::KernelParameter& parameter) {
    if (air::is_bound(parameter.kind)) return llvm::PointerType::get(module_.getContext(), parameter.address_space);
    llvm::Type* number = llvm::Type::getIntNTy(module_.getContext(), parameter.bits);
    return parameter.components == 1 ? number : llvm::FixedVectorType::get(number, parameter.components);
  }

  // A vector is an object of a class to Clang, which is passed by address.
  static llvm::Value* passed(llvm::IRBuilder<>& b, llvm::Argument& argument, const llvm::Function& body, unsigned i) {
    llvm::Type* object = body.getParamByValType(i);
    if (object == nullptr) return &argument;
    llvm::AllocaInst* copy = b.CreateAlloca(object);
    copy->setAlignment(body.getParamAlign(i).valueOrOne());
    b.CreateAlignedStore(&argument, copy, copy->getAlign());
    return copy;
  }

  void describe(const sema::KernelDeclaration& kernel, llvm::Function& entry) {
    llvm::SmallVector<llvm::Metadata*> arguments;
    for (unsigned i = 0; i < kernel.parameters.size(); ++i) arguments.push_back(describe(kernel.parameters[i], i));
    llvm::SmallVector<llvm::Metadata*> node = {llvm::ValueAsMetadata::get(&entry), nodes_.node({}),
                                               nodes_.node(arguments)};
    if (kernel.max_total_threads) {
      node.push_back(nodes_.node({nodes_.text("air.max_work_group_size"), nodes_.number(*kernel.max_total_threads)}));
    }
    module_.getOrInsertNamedMetadata("air.kernel")->addOperand(nodes_.node(node));
  }

  llvm::MDNode* describe(const sema::KernelParameter& parameter, unsigned index) {
    llvm::SmallVector<llvm::Metadata*> node = {nodes_.number(index)};
    const auto say = [&](llvm::StringRef key) { node.push_back(nodes_.text(key)); };
    const auto say_number = [&](llvm::StringRef key, std::uint64_t value) {
      say(key);
      node.push_back(nodes_.number(value));
    };
    if (air::is_bound(parameter.kind)) {
      say("air.buffer");
      if (parameter.is_reference && parameter.address_space != air::kThreadgroupSpace) {
        say_number("air.buffer_size", parameter.size);
      }
      say_number("air.location_index", parameter.binding);
      node.push_back(nodes_.number(1));
      say(parameter.read_only ? "air.read" : "air.read_write");
      say_number("air.address_space", parameter.address_space);
      if (!parameter.members.empty()) {
        say("air.struct_type_info");
        node.push_back(describe(parameter.members));
      }
      if (parameter.size != 0) {
        say_number("air.arg_type_size", parameter.size);
        say_number("air.arg_type_align_size", parameter.alignment);
      }
    } else {
      say("air." + std::string(air::name_of(parameter.kind)));
    }
    say("air.arg_type_name");
    say(parameter.type_name);
    say("air.arg_name");
    say(parameter.name);
    return nodes_.node(node);
  }

  llvm::MDNode* describe(const std::vector<air::Member>& members) {
    llvm::SmallVector<llvm::Metadata*> node;
    for (const air::Member& member : members) {
      if (!member.members.empty()) node.append({nodes_.text("air.struct_type_info"), describe(member.members)});
      node.append({nodes_.number(member.offset), nodes_.number(member.size), nodes_.number(member.count),
                   nodes_.text(member.type_name), nodes_.text(member.name)});
    }
    return nodes_.node(node);
  }

  llvm::Module& module_;
  Nodes nodes_;
};

// "_Z5scale.MTL_FC_INIT_3_f", which lowering looks for.
void name_constant(llvm::Module& module, const sema::ConstantDeclaration& constant, Nodes& nodes) {
  llvm::GlobalVariable* global = module.getNamedGlobal(constant.global);
  global->setName(constant.global + ".MTL_FC_INIT_" + std::to_string(constant.id) + "_" + constant.type_name);
  global->setInitializer(llvm::UndefValue::get(global->getValueType()));
  global->setLinkage(llvm::GlobalValue::InternalLinkage);
  global->setExternallyInitialized(true);
  global->setConstant(true);
  module.getOrInsertNamedMetadata("air.function_constants")
      ->addOperand(nodes.node({llvm::ValueAsMetadata::get(global), nodes.text(constant.type_name),
                               nodes.text(constant.name), nodes.number(constant.id), nodes.truth(true)}));
}

void say_versions(llvm::Module& module, const ModuleVersion& version, Nodes& nodes) {
  module.getOrInsertNamedMetadata("air.version")
      ->addOperand(
          nodes.node({nodes.number(kAirVersion[0]), nodes.number(kAirVersion[1]), nodes.number(kAirVersion[2])}));
  module.getOrInsertNamedMetadata("air.language_version")
      ->addOperand(nodes.node({nodes.text("Metal"), nodes.number(version.metal / 100),
                               nodes.number(version.metal / 10 % 10), nodes.number(version.metal % 10)}));
  llvm::NamedMDNode* options = module.getOrInsertNamedMetadata("air.compile_options");
  options->addOperand(nodes.node({nodes.text("air.compile.denorms_disable")}));
  options->addOperand(
      nodes.node({nodes.text(version.fast_math ? "air.compile.fast_math_enable" : "air.compile.fast_math_disable")}));
}

}  // namespace

void add_entries(llvm::Module& module, const sema::Declarations& declarations, const ModuleVersion& version) {
  Nodes nodes(module.getContext());
  EntryWriter writer(module);
  for (const sema::KernelDeclaration& kernel : declarations.kernels) {
    for (const std::string& name : kernel.names) writer.write(kernel, name);
  }
  for (const sema::ConstantDeclaration& constant : declarations.constants) name_constant(module, constant, nodes);
  say_versions(module, version, nodes);
}

}  // namespace anymps::metal::frontend::emit
