#include "metal/frontend/lex/token_rewriter.h"

#include <clang/Basic/CharInfo.h>
#include <clang/Basic/DiagnosticIDs.h>
#include <clang/Lex/Preprocessor.h>
#include <clang/Lex/Token.h>
#include <llvm/ADT/StringSwitch.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "metal/air/signature.h"
#include "metal/frontend/lex/tokens.h"
#include "metal/frontend/support/annotations.h"

namespace anymps::metal::frontend::lex {
namespace {

using clang::Token;
namespace tok = clang::tok;
using Kind = tok::TokenKind;

enum class Word { kNone, kDevice, kThreadgroup, kConstant, kThread, kCoherent, kKernel, kOtherFunction };

// What sema/kernel_declarations.cpp asks about.
bool is_asked_for(llvm::StringRef attribute) {
  return air::builtin_named(std::string_view(attribute)) ||
         llvm::StringSwitch<bool>(attribute)
             .Cases("buffer", "threadgroup", "texture", "sampler", "stage_in", true)
             .Cases("host_name", "function_constant", "max_total_threads_per_threadgroup", true)
             .Default(false);
}

// Of Metal, and without a meaning for kernels on a CPU.
bool is_without_meaning(llvm::StringRef attribute) {
  return llvm::StringSwitch<bool>(attribute)
      .Cases("id", "user", "flat", "position", "color", "attribute", "vertex_id", "instance_id", true)
      .Cases("center_perspective", "center_no_perspective", "raster_order_group", "early_fragment_tests", true)
      .Cases("visible", "stitchable", "static", "object", "mesh", "payload", "base_instance", true)
      .Cases("required_threads_per_threadgroup", "max_total_threadgroups_per_mesh_grid", true)
      .Default(false);
}

class Translator {
 public:
  Translator(clang::Preprocessor& preprocessor, const std::vector<Token>& tokens) : pp_(preprocessor), in_(tokens) {
    words_ = {{&identifier("device"), Word::kDevice},        {&identifier("threadgroup"), Word::kThreadgroup},
              {&identifier("constant"), Word::kConstant},    {&identifier("thread"), Word::kThread},
              {&identifier("coherent"), Word::kCoherent},    {&identifier("kernel"), Word::kKernel},
              {&identifier("vertex"), Word::kOtherFunction}, {&identifier("fragment"), Word::kOtherFunction}};
    out_.reserve(in_.size() + in_.size() / 2);
    scopes_.emplace_back();
  }

  std::vector<Token> run() {
    while (at_ < in_.size()) translate_one();
    return std::move(out_);
  }

 private:
  static constexpr std::size_t kNowhere = static_cast<std::size_t>(-1);

  // Between two braces.
  struct Scope {
    unsigned parentheses = 0;
    std::size_t start = 0;  // of the declaration or statement that is being read, in out_
    // Of a class.
    bool is_class = false;
    const clang::IdentifierInfo* class_name = nullptr;
    std::vector<std::size_t> declared;  // where what it declares begins, in out_
    std::set<std::string> methods;      // as texts, once one is qualified by an address space
    std::size_t looked_at = kNowhere;   // the start of the last one that was found to be new
  };

  clang::IdentifierInfo& identifier(llvm::StringRef name) { return *pp_.getIdentifierInfo(name); }
  Scope& scope() { return scopes_.back(); }
  const Token& ahead(std::size_t n) const { return in_[std::min(at_ + n, in_.size() - 1)]; }

  Word word_at(const Token& token) const {
    const clang::IdentifierInfo* name = token.isAnyIdentifier() ? token.getIdentifierInfo() : nullptr;
    if (name == nullptr) return Word::kNone;
    for (const auto& [known, word] : words_) {
      if (known == name) return word;
    }
    return Word::kNone;
  }

  void translate_one() {
    const Token& token = in_[at_];
    if (token.is(tok::l_square) && ahead(1).is(tok::l_square)) return attributes();
    if (token.is(tok::numeric_constant)) return number();
    if (token.is(tok::kw_double)) return no_double();
    if (token.isOneOf(tok::string_literal, tok::kw___func__)) return text();
    if (token.is(tok::kw_static_cast) && cast()) return;
    if (token.is(tok::ellipsis) && range_of_elements()) return;
    if (at_ == array_parameter_) return name_of_array();
    if (token.isOneOf(tok::kw_static_assert, tok::kw__Static_assert, tok::kw_extern, tok::kw_asm,
                      tok::kw___attribute)) {
      literal_until_ = std::max(literal_until_, end_of_literals());
    }
    if (scope().parentheses == 0 && !scope().methods.empty() && scope().looked_at != scope().start &&
        ends_method(token, out_.back()) && skip_repeated_method()) {
      return;
    }
    switch (word_at(token)) {
      case Word::kDevice:
        return space(token, "opencl_global", false);
      case Word::kConstant:
        return space(token, "opencl_global_device", true);
      case Word::kThreadgroup:
        return threadgroup(token);
      case Word::kThread:
        if (is_qualifier_of_method()) return qualified_method();
        ++at_;
        return;
      case Word::kCoherent:
        if (!skip_coherence()) break;
        return;
      case Word::kKernel:
        annotate_kernel(token);
        ++at_;
        return;
      case Word::kOtherFunction:
        // Of graphics: a function as any other here, which no one can launch.
        if (scope().start != out_.size()) break;
        ++at_;
        return;
      case Word::kNone:
        break;
    }
    copy();
  }

  // A token as it is, and what it says about scopes.
  void copy() {
    const Token& token = in_[at_++];
    out_.push_back(token);
    switch (token.getKind()) {
      case tok::l_paren:
        ++scope().parentheses;
        break;
      case tok::r_paren:
        if (scope().parentheses > 0) --scope().parentheses;
        break;
      case tok::l_brace: {
        const auto class_begins = begins_class();
        scopes_.emplace_back();
        scope().start = out_.size();
        scope().is_class = class_begins.has_value();
        scope().class_name = class_begins.value_or(nullptr);
        break;
      }
      case tok::r_brace:
        if (scopes_.size() > 1) scopes_.pop_back();
        if (scope().parentheses == 0) end_declaration();
        break;
      case tok::semi:
        if (scope().parentheses == 0) end_declaration();
        break;
      case tok::colon:
        if (out_.size() > 1 && out_[out_.size() - 2].isOneOf(tok::kw_public, tok::kw_protected, tok::kw_private)) {
          end_declaration();
        }
        break;
      default:
        break;
    }
  }

  // By the brace at the end of out_: the name of the class, nullptr where it has none.
  std::optional<const clang::IdentifierInfo*> begins_class() {
    if (out_.size() < 2 || out_[out_.size() - 2].is(tok::r_paren)) return std::nullopt;
    int angles = 0;
    for (std::size_t i = scope().start; i + 1 < out_.size(); ++i) {
      angles += angles_of(out_[i]);
      if (angles == 0 && out_[i].isOneOf(tok::kw_struct, tok::kw_class, tok::kw_union)) {
        return out_[i + 1].isAnyIdentifier() ? out_[i + 1].getIdentifierInfo() : nullptr;
      }
    }
    return std::nullopt;
  }
  void end_declaration() {
    if (scope().is_class && scope().start < out_.size()) scope().declared.push_back(scope().start);
    scope().start = out_.size();
  }

  template <unsigned N>
  void report(clang::SourceLocation where, const char (&text)[N],
              clang::DiagnosticsEngine::Level level = clang::DiagnosticsEngine::Error) {
    clang::DiagnosticsEngine& diagnostics = pp_.getDiagnostics();
    diagnostics.Report(where, diagnostics.getCustomDiagID(level, text));
  }

  // ---- writing ----

  Token make_name(llvm::StringRef name, clang::SourceLocation where) { return lex::make_name(pp_, name, where); }
  Token make_literal(Kind kind, const std::string& text, clang::SourceLocation where) {
    Token token = make_token(kind, where);
    char* kept = pp_.getPreprocessorAllocator().Allocate<char>(text.size() + 1);
    std::copy_n(text.c_str(), text.size() + 1, kept);
    token.setLength(static_cast<unsigned>(text.size()));
    token.setLiteralData(kept);
    return token;
  }

  // __attribute__((BODY)), where `body` is written by the caller.
  template <typename Body>
  void attribute(clang::SourceLocation where, const Body& body) {
    out_.push_back(make_name("__attribute__", where));
    out_.push_back(make_token(tok::l_paren, where));
    out_.push_back(make_token(tok::l_paren, where));
    body();
    out_.push_back(make_token(tok::r_paren, where));
    out_.push_back(make_token(tok::r_paren, where));
  }

  void annotate(const std::string& name, llvm::ArrayRef<Token> arguments, clang::SourceLocation where) {
    out_.push_back(make_name("annotate", where));
    out_.push_back(make_token(tok::l_paren, where));
    out_.push_back(make_literal(tok::string_literal, "\"" + (support::kAnnotationPrefix + name) + "\"", where));
    if (!arguments.empty()) out_.push_back(make_token(tok::comma, where));
    out_.insert(out_.end(), arguments.begin(), arguments.end());
    out_.push_back(make_token(tok::r_paren, where));
  }

  void annotate_kernel(const Token& token) {
    attribute(token.getLocation(), [&] {
      out_.push_back(make_name("used", token.getLocation()));
      out_.push_back(make_token(tok::comma, token.getLocation()));
      annotate("kernel", {}, token.getLocation());
    });
  }

  // ---- address spaces ----

  void space(const Token& token, const char* attribute_name, bool is_constant) {
    if (is_qualifier_of_method()) return qualified_method();
    const clang::SourceLocation where = token.getLocation();
    if (is_constant) out_.push_back(make_name("const", where));
    attribute(where, [&] { out_.push_back(make_name(attribute_name, where)); });
    ++at_;
    if (scope().parentheses > 0) find_array_parameter();
  }

  // `coherent(system) device T*`: memory is coherent here without being asked. False where the word is a name.
  bool skip_coherence() {
    const std::size_t behind = ahead(1).is(tok::l_paren) ? behind_brackets(at_ + 1) : at_ + 1;
    const Token& next = in_[std::min(behind, in_.size() - 1)];
    if (word_at(next) != Word::kDevice && !next.isOneOf(tok::kw_const, tok::kw_volatile)) return false;
    at_ = behind;
    return true;
  }

  // ---- parameters that are arrays in an address space, which Clang takes as pointers only ----

  // `threadgroup T name[4][8]`: where the name stands.
  void find_array_parameter() {
    int angles = 0;
    for (std::size_t at = at_; at + 2 < in_.size(); ++at) {
      const Token& token = in_[at];
      angles += angles_of(token);
      if (angles > 0) continue;
      if (token.isAnyIdentifier() && in_[at + 1].is(tok::l_square) && in_[at + 2].isNot(tok::l_square)) {
        array_parameter_ = at;
        return;
      }
      if (!token.isAnyIdentifier() && !token.isOneOf(tok::kw_const, tok::kw_volatile, tok::coloncolon, tok::greater) &&
          !token.isOneOf(tok::greatergreater, tok::kw_float, tok::kw_int, tok::kw_char, tok::kw_short, tok::kw_long) &&
          !token.isOneOf(tok::kw_unsigned, tok::kw_signed, tok::kw_bool, tok::kw_typename)) {
        return;
      }
    }
  }
  void name_of_array() {
    const clang::SourceLocation where = in_[at_].getLocation();
    out_.push_back(make_token(tok::l_paren, where));
    out_.push_back(make_token(tok::star, where));
    out_.push_back(in_[at_]);
    out_.push_back(make_token(tok::r_paren, where));
    at_ = behind_brackets(at_ + 1);
  }

  // ---- ranges in initialisers ----

  // `[0 ... 9] = 1`, where a few letters can say as much as gigabytes: the last index goes through
  // metal::__last_of_range(), which bounds it, and no range stands within another. False where the dots are others.
  bool range_of_elements() {
    std::size_t end = at_ + 1;
    while (end + 1 < in_.size() && in_[end].isNot(tok::r_square)) {
      if (in_[end].isOneOf(tok::comma, tok::semi, tok::colon, tok::r_paren, tok::r_brace, tok::eof)) return false;
      end = in_[end].isOneOf(tok::l_square, tok::l_paren) ? behind_brackets(end) : end + 1;
    }
    if (end + 1 >= in_.size() || !in_[end + 1].isOneOf(tok::equal, tok::l_square, tok::period)) return false;
    const clang::SourceLocation where = in_[at_].getLocation();
    if (at_ < ranges_until_ || in_[end + 1].is(tok::l_square)) {
      report(where, "a range within a range of an initialiser is not supported");
    }
    if (end + 2 < in_.size() && in_[end + 2].is(tok::l_brace)) {
      ranges_until_ = std::max(ranges_until_, behind_brackets(end + 2));
    }
    copy();
    append_name_in_metal(pp_, "__last_of_range", where, out_);
    out_.push_back(make_token(tok::l_paren, where));
    while (at_ < end) translate_one();
    out_.push_back(make_token(tok::r_paren, where));
    return true;
  }

  // ---- casts ----

  // Clang converts half and bfloat to each other in no way: static_cast<T>(x) is given metal::__castable<T>(x), which
  // is x, or where it has to be a float. False where the type is none of these.
  bool cast() {
    std::size_t at = at_ + 1;
    if (in_[at].isNot(tok::less)) return false;
    int angles = 0;
    do {
      angles += angles_of(in_[at]);
      if (in_[at].isOneOf(tok::star, tok::amp, tok::ampamp, tok::semi, tok::l_paren, tok::numeric_constant, tok::eof) ||
          word_at(in_[at]) != Word::kNone) {
        return false;
      }
      ++at;
    } while (angles > 0);
    if (angles != 0 || in_[at].isNot(tok::l_paren)) return false;
    const llvm::ArrayRef<Token> type(in_.data() + at_ + 1, at - at_ - 1);
    const clang::SourceLocation where = in_[at].getLocation();
    const std::size_t end = behind_brackets(at) - 1;
    out_.push_back(in_[at_]);
    out_.insert(out_.end(), type.begin(), type.end());
    at_ = at;
    copy();
    append_name_in_metal(pp_, "__castable", where, out_);
    out_.insert(out_.end(), type.begin(), type.end());
    out_.push_back(make_token(tok::l_paren, where));
    while (at_ < end) translate_one();
    out_.push_back(make_token(tok::r_paren, where));
    return true;
  }

  // ---- texts, which lie in constant memory ----

  void text() {
    const bool is_value =
        at_ >= literal_until_ && !out_.empty() &&
        (out_.back().isOneOf(tok::l_paren, tok::comma, tok::question, tok::colon, tok::kw_return) ||
         (out_.back().is(tok::equal) && out_.size() > 1 && out_[out_.size() - 2].isNot(tok::r_square)));
    const clang::SourceLocation where = in_[at_].getLocation();
    if (is_value) {
      // (const __attribute__((...)) char*)
      out_.push_back(make_token(tok::l_paren, where));
      out_.push_back(make_name("const", where));
      attribute(where, [&] { out_.push_back(make_name("opencl_global_device", where)); });
      out_.push_back(make_name("char", where));
      out_.push_back(make_token(tok::star, where));
      out_.push_back(make_token(tok::r_paren, where));
    }
    if (in_[at_].is(tok::kw___func__)) return copy();
    while (in_[at_].is(tok::string_literal)) out_.push_back(in_[at_++]);
  }
  // The place up to which texts are no values: of static_assert(...) and the like, and of extern "C".
  std::size_t end_of_literals() const { return in_[at_].is(tok::kw_extern) ? at_ + 2 : behind_brackets(at_ + 1); }

  void threadgroup(const Token& token) {
    if (!is_qualifier_of_method() && scope().parentheses == 0 && !is_template_argument()) {
      if (const auto variable = variable_at(at_ + 1)) declare_static(token.getLocation(), variable->initialised);
    }
    space(token, "opencl_local", false);
  }

  // `tensor<threadgroup half, ...>`: the type of something that may lie elsewhere.
  bool is_template_argument() const {
    for (std::size_t i = out_.size(); i > scopes_.back().start; --i) {
      const Token& token = out_[i - 1];
      if (token.isOneOf(tok::less, tok::comma)) return true;
      if (!token.isOneOf(tok::kw_const, tok::kw_volatile)) return false;
    }
    return false;
  }

  struct Variable {
    bool initialised = false;
  };
  // Whether what follows declares variables of the space, rather than pointers into it.
  std::optional<Variable> variable_at(std::size_t at) const {
    int angles = 0;
    for (; at < in_.size(); ++at) {
      const Token& token = in_[at];
      if (const int opened = angles_of(token); opened != 0) {
        angles += opened;
      } else if (token.isOneOf(tok::kw_decltype, tok::kw_alignas)) {
        at = behind_brackets(at + 1) - 1;
      } else if (token.is(tok::l_paren) && angles > 0) {
        at = behind_brackets(at) - 1;
      } else if (angles <= 0 && token.isOneOf(tok::semi, tok::equal, tok::l_brace, tok::comma, tok::l_square)) {
        return Variable{has_initialiser(at)};
      } else if ((angles <= 0 && token.isOneOf(tok::star, tok::amp, tok::ampamp, tok::l_paren)) ||
                 token.isOneOf(tok::r_paren, tok::r_brace, tok::eof)) {
        return std::nullopt;
      }
    }
    return std::nullopt;
  }
  bool has_initialiser(std::size_t at) const {
    while (at < in_.size() && !in_[at].isOneOf(tok::semi, tok::eof)) {
      if (in_[at].isOneOf(tok::equal, tok::l_brace)) return true;
      at = in_[at].isOneOf(tok::l_square, tok::l_paren) ? behind_brackets(at) : at + 1;
    }
    return false;
  }
  // The place behind the bracket that closes the one at `at`.
  std::size_t behind_brackets(std::size_t at) const { return behind_brackets(in_, at); }
  static std::size_t behind_brackets(const std::vector<Token>& tokens, std::size_t at) {
    int depth = 0;
    for (; at < tokens.size(); ++at) {
      if (tokens[at].isOneOf(tok::l_paren, tok::l_square, tok::l_brace)) ++depth;
      if (tokens[at].isOneOf(tok::r_paren, tok::r_square, tok::r_brace) && --depth <= 0) return at + 1;
      if (tokens[at].is(tok::eof)) break;
    }
    return at;
  }

  void declare_static(clang::SourceLocation where, bool initialised) {
    std::vector<Token> rest(out_.begin() + static_cast<std::ptrdiff_t>(scope().start), out_.end());
    out_.resize(scope().start);
    bool is_static = false;
    for (const Token& token : rest) is_static = is_static || token.is(tok::kw_static);
    // alignas stands in front of everything.
    std::size_t front = 0;
    while (front < rest.size() && rest[front].is(tok::kw_alignas)) front = behind_brackets(rest, front + 1);
    out_.insert(out_.end(), rest.begin(), rest.begin() + static_cast<std::ptrdiff_t>(front));
    rest.erase(rest.begin(), rest.begin() + static_cast<std::ptrdiff_t>(front));
    if (!is_static) out_.push_back(make_name("static", where));
    if (!initialised) {
      attribute(where, [&] {
        out_.push_back(make_name("section", where));
        out_.push_back(make_token(tok::l_paren, where));
        out_.push_back(
            make_literal(tok::string_literal, std::string("\"") + support::kUninitialisedSection + "\"", where));
        out_.push_back(make_token(tok::r_paren, where));
      });
    }
    out_.insert(out_.end(), rest.begin(), rest.end());
  }

  // ---- methods that are qualified by an address space ----

  // Behind the `)` of a function's parameters.
  bool is_qualifier_of_method() const {
    std::size_t at = out_.size();
    while (at > 0 && out_[at - 1].isOneOf(tok::kw_const, tok::kw_volatile)) --at;
    if (at == 0 || out_[at - 1].isNot(tok::r_paren)) return false;
    int depth = 0;
    while (at > 0) {
      --at;
      if (out_[at].is(tok::r_paren)) ++depth;
      if (out_[at].is(tok::l_paren) && --depth == 0) break;
    }
    if (at == 0 || depth != 0) return false;
    return !out_[at - 1].isOneOf(tok::kw_alignas, tok::kw___attribute, tok::kw_decltype, tok::kw_if, tok::kw_for,
                                 tok::kw_while, tok::kw_switch, tok::kw_sizeof, tok::kw_alignof);
  }

  void qualified_method() {
    bool is_const = out_.back().is(tok::kw_const);
    bool of_constant = false;
    while (word_at(in_[at_]) != Word::kNone || in_[at_].isOneOf(tok::kw_const, tok::kw_volatile)) {
      if (in_[at_].isOneOf(tok::kw_const, tok::kw_volatile)) out_.push_back(in_[at_]);
      is_const = is_const || in_[at_].is(tok::kw_const);
      of_constant = of_constant || word_at(in_[at_]) == Word::kConstant;
      ++at_;
    }
    if (of_constant && !is_const && !is_constructor()) out_.push_back(make_name("const", in_[at_].getLocation()));
    if (scope().parentheses != 0 || !scope().is_class) return;
    forget_space_of_result();
    for (const std::size_t start : scope().declared) scope().methods.insert(text_of_method(start));
    scope().declared.clear();
    skip_repeated_method();
  }
  // What ends with its parameters at the end of out_: C(...) or C<T>(...).
  bool is_constructor() {
    std::size_t name = scope().start;
    while (name < out_.size() &&
           (!out_[name].isAnyIdentifier() || out_[name].getIdentifierInfo() != scope().class_name)) {
      ++name;
    }
    if (name + 1 >= out_.size()) return false;
    return out_[name + 1].is(tok::l_paren) ||
           (out_[name + 1].is(tok::less) && behind_angles(name + 1).is(tok::l_paren));
  }
  // What follows the `>` of the `<` at that place of out_.
  const Token& behind_angles(std::size_t at) const {
    int angles = 0;
    for (; at + 1 < out_.size(); ++at) {
      if (out_[at].is(tok::less)) ++angles;
      if (out_[at].is(tok::greater) && --angles == 0) break;
    }
    return out_[std::min(at + 1, out_.size() - 1)];
  }

  // `device T& at(int i) device`: the object is in the default space, and so is what is in it.
  void forget_space_of_result() {
    std::vector<Token> method(out_.begin() + static_cast<std::ptrdiff_t>(scope().start), out_.end());
    out_.resize(scope().start);
    for (std::size_t i = 0; i < method.size(); ++i) {
      if (method[i].is(tok::l_paren)) {
        out_.insert(out_.end(), method.begin() + static_cast<std::ptrdiff_t>(i), method.end());
        return;
      }
      if (method[i].is(tok::kw___attribute) && i + 5 < method.size() && is_space(method[i + 3])) {
        i += 5;  // __attribute__ ( ( space ) )
      } else if (method[i].isNot(tok::kw_const) || out_.size() == scope().start || out_.back().isNot(tok::kw_const)) {
        out_.push_back(method[i]);
      }
    }
  }
  static bool is_space(const Token& token) {
    return token.isAnyIdentifier() && token.getIdentifierInfo()->getName().starts_with("opencl_");
  }
  // Of what begins there in out_: all up to its body.
  std::string text_of_method(std::size_t start) {
    std::string text;
    for (std::size_t i = start; i < out_.size() && (i == start || !ends_method(out_[i], out_[i - 1])); ++i) {
      text += pp_.getSpelling(out_[i]) + " ";
    }
    return text;
  }
  static bool ends_method(const Token& token, const Token& before) {
    return token.isOneOf(tok::l_brace, tok::semi, tok::equal, tok::colon) &&
           before.isOneOf(tok::r_paren, tok::kw_const, tok::kw_volatile);
  }
  bool skip_repeated_method() {
    if (scope().methods.insert(text_of_method(scope().start)).second) {
      scope().looked_at = scope().start;
      return false;
    }
    out_.resize(scope().start);
    skip_rest_of_method();
    return true;
  }
  void skip_rest_of_method() {
    bool initialisers = false;
    while (at_ < in_.size() && in_[at_].isNot(tok::eof)) {
      if (in_[at_].is(tok::semi)) {
        ++at_;
        return;
      }
      if (in_[at_].is(tok::colon)) initialisers = true;
      if (in_[at_].is(tok::l_brace)) {
        // Of a member's initialiser, where a name stands in front of it: a body follows `)` or `}`.
        const bool of_member = initialisers && in_[at_ - 1].isOneOf(tok::identifier, tok::greater);
        at_ = behind_brackets(at_);
        if (!of_member) return;
        continue;
      }
      at_ = in_[at_].is(tok::l_paren) ? behind_brackets(at_) : at_ + 1;
    }
  }

  // ---- [[attributes]] ----

  void attributes() {
    const clang::SourceLocation where = in_[at_].getLocation();
    at_ += 2;
    std::vector<Token> left;  // those that are C++'s
    while (!in_[at_].isOneOf(tok::r_square, tok::eof)) {
      const std::size_t begin = at_;
      while (!in_[at_].isOneOf(tok::comma, tok::r_square, tok::eof)) {
        at_ = in_[at_].isOneOf(tok::l_paren, tok::l_square, tok::l_brace) ? behind_brackets(at_) : at_ + 1;
      }
      const llvm::ArrayRef<Token> one(in_.data() + begin, at_ - begin);
      if (!of_metal(one)) {
        if (!left.empty()) left.push_back(make_token(tok::comma, where));
        left.insert(left.end(), one.begin(), one.end());
      }
      if (in_[at_].is(tok::comma)) ++at_;
    }
    for (int i = 0; i < 2 && in_[at_].is(tok::r_square); ++i) ++at_;
    if (left.empty()) return;
    for (const Kind kind : {tok::l_square, tok::l_square}) out_.push_back(make_token(kind, where));
    out_.insert(out_.end(), left.begin(), left.end());
    for (const Kind kind : {tok::r_square, tok::r_square}) out_.push_back(make_token(kind, where));
  }

  bool of_metal(llvm::ArrayRef<Token> one) {
    if (one.empty()) return true;
    if (!one[0].isAnyIdentifier() && one[0].isNot(tok::kw_static)) return false;
    if (one.size() > 1 && one[1].isNot(tok::l_paren)) return false;  // of a namespace
    const std::string name = pp_.getSpelling(one[0]);
    const clang::SourceLocation where = one[0].getLocation();
    if (is_without_meaning(name)) return true;
    if (name != "kernel" && !is_asked_for(name)) return false;  // C++'s, or nobody's
    if (name == "kernel") {
      annotate_kernel(one[0]);
      return true;
    }
    if (name == "thread_execution_width") {
      report(where, "'thread_execution_width' is deprecated: 'threads_per_simdgroup' says the same",
             clang::DiagnosticsEngine::Warning);
    }
    std::vector<Token> arguments;
    if (one.size() > 3) arguments.assign(one.begin() + 2, one.end() - 1);
    if (name == "function_constant") {
      if (scope().parentheses == 0) {
        declare_extern(where);
      } else {
        // Of an argument: the condition is an expression that is known when the kernel is specialised.
        std::string text;
        for (const Token& token : arguments) text += pp_.getSpelling(token);
        arguments = {make_literal(tok::string_literal, "\"" + text + "\"", where)};
      }
    }
    attribute(where, [&] { annotate(name, arguments, where); });
    return true;
  }

  // A function constant has its value from elsewhere.
  void declare_extern(clang::SourceLocation where) {
    std::vector<Token> rest;
    for (std::size_t i = scope().start; i < out_.size(); ++i) {
      if (!out_[i].isOneOf(tok::kw_static, tok::kw_constexpr)) rest.push_back(out_[i]);
    }
    out_.resize(scope().start);
    out_.push_back(make_name("extern", where));
    out_.insert(out_.end(), rest.begin(), rest.end());
  }

  // ---- numbers ----

  void number() {
    const Token& token = in_[at_++];
    const std::string text = pp_.getSpelling(token);
    const bool hexadecimal = text.size() > 1 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
    const bool binary = text.size() > 1 && text[0] == '0' && (text[1] == 'b' || text[1] == 'B');
    const bool floating = hexadecimal ? text.find_first_of("pP") != std::string::npos
                                      : !binary && text.find_first_of(".eE") != std::string::npos;
    const auto ends_with = [&](llvm::StringRef suffix) { return llvm::StringRef(text).ends_with_insensitive(suffix); };
    // Behind the digits of a number.
    const auto has_suffix = [&](llvm::StringRef suffix) {
      if (!ends_with(suffix) || text.size() == suffix.size()) return false;
      const char before = text[text.size() - suffix.size() - 1];
      return clang::isDigit(static_cast<unsigned char>(before)) || before == '.';
    };
    const auto without = [&](std::size_t count) { return text.substr(0, text.size() - count); };
    const clang::SourceLocation where = token.getLocation();
    if (!hexadecimal && has_suffix("bf")) {
      out_.push_back(make_name("bfloat", where));
      out_.push_back(make_token(tok::l_paren, where));
      out_.push_back(make_literal(tok::numeric_constant, as_floating(without(2)) + "f", where));
      out_.push_back(make_token(tok::r_paren, where));
    } else if (!hexadecimal && !binary && has_suffix("h")) {
      out_.push_back(make_literal(tok::numeric_constant, as_floating(without(1)) + "f16", where));
    } else if (!hexadecimal && !binary && !floating && has_suffix("f")) {
      out_.push_back(make_literal(tok::numeric_constant, as_floating(without(1)) + "f", where));  // 1f
    } else if (floating && (clang::isDigit(static_cast<unsigned char>(text.back())) || text.back() == '.')) {
      out_.push_back(make_literal(tok::numeric_constant, text + "f", where));
    } else {
      out_.push_back(token);
    }
  }
  static std::string as_floating(const std::string& text) {
    return text.find_first_of(".eE") == std::string::npos ? text + ".0" : text;
  }

  void no_double() {
    report(in_[at_].getLocation(), "'double' is not supported in Metal");
    out_.push_back(make_name("float", in_[at_].getLocation()));
    ++at_;
  }

  clang::Preprocessor& pp_;
  const std::vector<Token>& in_;
  std::vector<std::pair<const clang::IdentifierInfo*, Word>> words_;
  std::size_t at_ = 0;
  std::size_t array_parameter_ = kNowhere;
  std::size_t literal_until_ = 0;
  std::size_t ranges_until_ = 0;
  std::vector<Token> out_;
  std::vector<Scope> scopes_;
};

}  // namespace

std::vector<clang::Token> translate_words(clang::Preprocessor& preprocessor, const std::vector<clang::Token>& tokens) {
  return Translator(preprocessor, tokens).run();
}

}  // namespace anymps::metal::frontend::lex
