#include "metal/frontend/emit/air_target.h"

#include <clang/Basic/Builtins.h>
#include <clang/Basic/MacroBuilder.h>
#include <clang/Basic/TargetInfo.h>
#include <clang/Basic/TargetOptions.h>
#include <clang/Frontend/CompilerInstance.h>
#include <llvm/ADT/APFloat.h>

#include <memory>

#include "metal/air/signature.h"
#include "metal/frontend/support/private_member.h"

namespace anymps::metal::frontend::emit {

// Clang sets a target's options in its own factory only, and CodeGen asks for them.
struct TargetOptionsMember
    : support::PrivateMember<TargetOptionsMember, std::shared_ptr<clang::TargetOptions> clang::TargetInfo::*> {};

}  // namespace anymps::metal::frontend::emit

// In a namespace that encloses the template.
template struct anymps::metal::frontend::support::Reveal<anymps::metal::frontend::emit::TargetOptionsMember,
                                                         &clang::TargetInfo::TargetOpts>;

namespace anymps::metal::frontend::emit {
namespace {

// By clang::LangAS. The spaces of SYCL are those that the words of Metal become (lex/token_rewriter.cpp): Clang lets
// them convert to the default space, so that methods, references and copies work on objects wherever they lie.
constexpr clang::LangASMap kSpaces = {
    0,  // default
    air::kDeviceSpace,
    air::kThreadgroupSpace,
    air::kConstantSpace,
    0,
    0,
    air::kDeviceSpace,
    air::kDeviceSpace,  // OpenCL's
    air::kDeviceSpace,
    air::kConstantSpace,
    air::kThreadgroupSpace,  // CUDA's
    air::kDeviceSpace,
    air::kConstantSpace,
    air::kDeviceSpace,
    air::kThreadgroupSpace,
    0,  // SYCL's
    0,
    0,
    0,                       // pointers by size
    air::kThreadgroupSpace,  // HLSL's
    0,                       // WebAssembly's
};

// As Apple's compiler writes it into its modules.
constexpr char kDataLayout[] =
    "e-p:64:64:64-i1:8:8-i8:8:8-i16:16:16-i32:32:32-i64:64:64-f32:32:32-f64:64:64-v16:16:16-v24:32:32-v32:32:32-"
    "v48:64:64-v64:64:64-v96:128:128-v128:128:128-v192:256:256-v256:256:256-v512:512:512-v1024:1024:1024-n8:16:32";

class AirTarget final : public clang::TargetInfo {
 public:
  AirTarget(const llvm::Triple& triple, unsigned version, bool fast_math)
      : TargetInfo(triple), version_(version), fast_math_(fast_math) {
    PointerWidth = PointerAlign = 64;
    LongWidth = LongAlign = 64;
    SizeType = UnsignedLong;
    PtrDiffType = IntPtrType = IntMaxType = Int64Type = SignedLong;
    HasFloat16 = HasLegalHalfType = true;
    HasBFloat16 = HasFullBFloat16 = true;
    BFloat16Width = BFloat16Align = 16;
    BFloat16Format = &llvm::APFloat::BFloat();
    AddrSpaceMap = &kSpaces;
    UseAddrSpaceMapMangling = true;
    TLSSupported = false;
    VLASupported = false;
    NoAsmVariants = true;
    resetDataLayout(kDataLayout, /*UserLabelPrefix=*/"");
  }

  void getTargetDefines(const clang::LangOptions& /*options*/, clang::MacroBuilder& builder) const override {
    builder.defineMacro("__METAL__");
    builder.defineMacro("__METAL_MACOS__");
    builder.defineMacro("__METAL_VERSION__", llvm::Twine(version_));
    builder.defineMacro("__METAL_FAST_MATH__", fast_math_ ? "1" : "0");
    builder.defineMacro("__HAVE_BFLOAT__");
  }
  llvm::ArrayRef<clang::Builtin::Info> getTargetBuiltins() const override { return {}; }
  BuiltinVaListKind getBuiltinVaListKind() const override { return VoidPtrBuiltinVaList; }
  bool validateAsmConstraint(const char*& /*name*/, ConstraintInfo& /*info*/) const override { return false; }
  std::string_view getClobbers() const override { return ""; }
  llvm::ArrayRef<const char*> getGCCRegNames() const override { return {}; }
  llvm::ArrayRef<GCCRegAlias> getGCCRegAliases() const override { return {}; }
  bool hasBitIntType() const override { return true; }
  // For descriptors of tensor operations, which are template arguments (stdlib/MetalPerformancePrimitives).
  size_t getMaxBitIntWidth() const override { return 1024; }
  bool useFP16ConversionIntrinsics() const override { return false; }

 private:
  const unsigned version_;
  const bool fast_math_;
};

}  // namespace

void set_air_target(clang::CompilerInstance& compiler, unsigned version, bool fast_math) {
  auto options = std::make_shared<clang::TargetOptions>();
  options->Triple = kTriple;
  compiler.getTargetOpts() = *options;
  auto* target = new AirTarget(llvm::Triple(kTriple), version, fast_math);  // the instance counts references to it
  target->*revealed(TargetOptionsMember{}) = options;
  compiler.setTarget(target);
  compiler.setAuxTarget(target);  // the "host", which is asked how bfloats are called
  target->adjust(compiler.getDiagnostics(), compiler.getLangOpts());
}

}  // namespace anymps::metal::frontend::emit
