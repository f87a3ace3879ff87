#include "metal/frontend/lex/preprocessor_limits.h"

#include <clang/Basic/SourceManager.h>
#include <clang/Lex/MacroArgs.h>
#include <clang/Lex/MacroInfo.h>
#include <clang/Lex/PPCallbacks.h>
#include <clang/Lex/Preprocessor.h>

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "metal/frontend/support/limits.h"
#include "metal/frontend/support/private_member.h"

namespace anymps::metal::frontend::lex {

struct NumberOfTokens : support::PrivateMember<NumberOfTokens, unsigned clang::MacroInfo::*> {};

struct NoMoreIncludes : support::PrivateMember<NoMoreIncludes, bool clang::Preprocessor::*> {};

}  // namespace anymps::metal::frontend::lex

// In a namespace that encloses the template.
template struct anymps::metal::frontend::support::Reveal<anymps::metal::frontend::lex::NumberOfTokens,
                                                         &clang::MacroInfo::NumReplacementTokens>;
template struct anymps::metal::frontend::support::Reveal<anymps::metal::frontend::lex::NoMoreIncludes,
                                                         &clang::Preprocessor::HasReachedMaxIncludeDepth>;

namespace anymps::metal::frontend::lex {
namespace {

using Sizes = std::vector<std::size_t>;
constexpr std::size_t kTooMany = support::kMostTokens + 1;
constexpr unsigned kDeepestCalls = 200;

std::size_t sum(std::size_t a, std::size_t b) { return std::min(a + b, kTooMany); }

// How many tokens a macro becomes, reckoned before it is expanded: the preprocessor expands arguments in memory,
// however long they get. What a macro gets to call only once its arguments are in place is reckoned at that call.
class Reckoner {
 public:
  explicit Reckoner(clang::Preprocessor& preprocessor) : pp_(preprocessor) {}

  std::size_t size_of_call(const clang::MacroInfo& macro, const clang::MacroArgs* arguments) {
    Sizes sizes(macro.getNumParams(), 0);
    for (unsigned i = 0;
         arguments != nullptr && i < std::min<unsigned>(macro.getNumParams(), arguments->getNumMacroArguments()); ++i) {
      const clang::Token* begin = arguments->getUnexpArgument(i);
      sizes[i] = size_of({begin, clang::MacroArgs::getArgLength(begin)}, nullptr, nullptr, 0);
    }
    return size_of_body(macro, sizes, 0);
  }
  // Some macro has changed.
  void forget() { known_.clear(); }

 private:
  std::size_t size_of_body(const clang::MacroInfo& macro, const Sizes& sizes, unsigned depth) {
    if (depth > kDeepestCalls) return kTooMany;
    const auto [known, is_new] = known_.try_emplace({&macro, sizes}, 1);  // 1 while it is open: no macro calls itself
    if (is_new) known->second = size_of(macro.tokens(), &macro, &sizes, depth + 1);
    return known->second;
  }

  // Of tokens in the body of `owner`, whose parameters have these sizes; or of an argument.
  std::size_t size_of(llvm::ArrayRef<clang::Token> tokens, const clang::MacroInfo* owner, const Sizes* parameters,
                      unsigned depth) {
    if (depth > kDeepestCalls) return kTooMany;
    std::size_t total = 0;
    for (std::size_t at = 0; at < tokens.size() && total < kTooMany; ++at) {
      clang::IdentifierInfo* name = tokens[at].getIdentifierInfo();
      const int parameter = owner == nullptr || name == nullptr ? -1 : owner->getParameterNum(name);
      const clang::MacroInfo* macro = name == nullptr || parameter >= 0 ? nullptr : pp_.getMacroInfo(name);
      if (parameter >= 0) {
        total = sum(total, (*parameters)[static_cast<std::size_t>(parameter)]);
      } else if (macro == nullptr || macro->isBuiltinMacro()) {
        total = sum(total, 1);
      } else if (macro->isObjectLike()) {
        total = sum(total, size_of_body(*macro, {}, depth + 1));
      } else if (at + 1 < tokens.size() && tokens[at + 1].is(clang::tok::l_paren)) {
        const Sizes sizes = sizes_of_arguments(tokens, at, *macro, owner, parameters, depth);
        total = sum(total, size_of_body(*macro, sizes, depth + 1));
      } else {
        total = sum(total, 1);
      }
    }
    return total;
  }

  // `at` stands on the macro's name, and is set to its `)`.
  Sizes sizes_of_arguments(llvm::ArrayRef<clang::Token> tokens, std::size_t& at, const clang::MacroInfo& macro,
                           const clang::MacroInfo* owner, const Sizes* parameters, unsigned depth) {
    Sizes sizes(macro.getNumParams(), 0);
    std::size_t index = 0;
    std::size_t begin = at += 2;
    const auto add = [&] {
      if (sizes.empty()) return;
      std::size_t& size = sizes[std::min(index, sizes.size() - 1)];
      size = sum(size, size_of(tokens.slice(begin, at - begin), owner, parameters, depth + 1));
    };
    for (int open = 0; at < tokens.size(); ++at) {
      if (tokens[at].is(clang::tok::l_paren)) ++open;
      if (tokens[at].is(clang::tok::r_paren) && --open < 0) break;
      if (tokens[at].is(clang::tok::comma) && open == 0) {
        add();
        ++index;
        begin = at + 1;
      }
    }
    add();
    return sizes;
  }

  clang::Preprocessor& pp_;
  std::map<std::pair<const clang::MacroInfo*, Sizes>, std::size_t> known_;
};

class Watch final : public clang::PPCallbacks {
 public:
  explicit Watch(clang::Preprocessor& preprocessor) : pp_(preprocessor), reckoner_(preprocessor) {}

  void MacroExpands(const clang::Token& name, const clang::MacroDefinition& definition, clang::SourceRange /*range*/,
                    const clang::MacroArgs* arguments) override {
    clang::MacroInfo* macro = definition.getMacroInfo();
    if (macro == nullptr || macro->isBuiltinMacro()) return;
    if (!over_) {
      const std::size_t most = pp_.isParsingIfOrElifDirective() ? support::kMostConditionTokens : support::kMostTokens;
      if (reckoner_.size_of_call(*macro, arguments) > most) {
        stop(name.getLocation(), "the expansion of this macro is too long");
      } else if (++expansions_ % 1024 == 0) {
        check_time(name.getLocation());
      }
    }
    // Behind the end macros are empty, so that no more comes of them.
    if (over_) macro->*revealed(NumberOfTokens{}) = 0;
  }
  void MacroDefined(const clang::Token& /*name*/, const clang::MacroDirective* /*directive*/) override {
    reckoner_.forget();
  }
  void MacroUndefined(const clang::Token& /*name*/, const clang::MacroDefinition& /*definition*/,
                      const clang::MacroDirective* /*directive*/) override {
    reckoner_.forget();
  }

  void FileChanged(clang::SourceLocation where, FileChangeReason reason, clang::SrcMgr::CharacteristicKind /*kind*/,
                   clang::FileID /*previous*/) override {
    if (reason != EnterFile || over_) return;
    if (++files_ > support::kMostFiles) stop(where, "more files are included than a program may have");
    check_time(where);
  }

 private:
  template <unsigned N>
  void stop(clang::SourceLocation where, const char (&format)[N]) {
    clang::DiagnosticsEngine& diagnostics = pp_.getDiagnostics();
    diagnostics.Report(where, diagnostics.getCustomDiagID(clang::DiagnosticsEngine::Fatal, format));
    pp_.*revealed(NoMoreIncludes{}) = true;
    over_ = true;
  }
  void check_time(clang::SourceLocation where) {
    if (support::seconds_used() > support::kMostSeconds) stop(where, "the program takes too long to preprocess");
  }

  clang::Preprocessor& pp_;
  Reckoner reckoner_;
  std::size_t expansions_ = 0;
  std::size_t files_ = 0;
  bool over_ = false;
};

}  // namespace

void watch_preprocessor(clang::Preprocessor& preprocessor) {
  preprocessor.addPPCallbacks(std::make_unique<Watch>(preprocessor));
}

}  // namespace anymps::metal::frontend::lex
