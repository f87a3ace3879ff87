#include "random_kernel.h"

#include <algorithm>
#include <utility>

#include "kernel_buffers.h"
#include "random_expression.h"

namespace anymps::fuzz {
namespace {

constexpr unsigned kMostGroup = 128;  // threads of a threadgroup
constexpr unsigned kStatements = 10;  // outside of blocks
constexpr unsigned kInside = 9;       // in the blocks of one of them
constexpr unsigned kDeepest = 4;      // blocks in blocks
constexpr const char* kBarrier = "threadgroup_barrier(mem_flags::mem_threadgroup);";

// Where a statement stands.
struct Context {
  bool uniform = true;  // all threads of the threadgroup come here, but those that have ended
  unsigned depth = 0;
  bool in_loop = false;
  bool loop_uniform = false;
  bool breaks = false;  // there is a loop or a switch
  bool break_uniform = false;
  bool exchanging = false;  // others may be reading the threadgroup's memory

  bool may_continue() const { return in_loop && loop_uniform == uniform; }
  bool may_break() const { return breaks && break_uniform == uniform; }
};

class Maker {
 public:
  explicit Maker(std::uint64_t seed)
      : random_(seed),
        together_(random_.one_of(kAll)),
        rows_(random_.chance(30)),
        branchy_(random_.chance(50)),
        write_(random_, scope_, together_, rows_, /*deepest=*/branchy_ ? 1 : 3) {}

  KernelProgram make() {
    KernelProgram program;
    program.plan.values = random_.below(8);
    program.plan.shapes.push_back(shape());
    if (random_.chance(40)) program.plan.shapes.push_back(shape());
    program.head = head();
    for (unsigned i = random_.between(2, 6); i > 0; --i) program.body.push_back(input());
    if (random_.chance(15)) program.body.push_back(guard());
    // Mostly few: they take less time.
    for (unsigned i = random_.between(2, random_.between(4, kStatements)); i > 0; --i) {
      left_ = kInside;
      program.body.push_back(statement({}));
    }
    for (Statement& statement : results()) program.body.push_back(std::move(statement));
    program.tail = "}\n";
    return program;
  }

 private:
  static constexpr Together kAll[] = {Together::kNothing, Together::kNothing, Together::kSimdgroups,
                                      Together::kThreadgroups, Together::kThreadgroups};

  LaunchShape shape() {
    constexpr std::uint32_t kAlong[] = {32, 32, 64, 64, 96, 128, 33, 7, 1, 48};
    constexpr std::array<std::uint32_t, 2> kRows[] = {{16, 8}, {8, 4}, {32, 2}, {32, 4}, {64, 2}, {5, 3}, {32, 1}};
    if (!rows_) {
      const std::uint32_t group = random_.one_of(kAlong);
      const std::uint32_t groups = random_.between(1, 3);
      const std::uint32_t grid = random_.chance(60) ? group * groups : random_.between(1, 300);
      return {.grid = {grid, 1}, .group = {group, 1}};
    }
    const std::array<std::uint32_t, 2> group = random_.one_of(kRows);
    std::array<std::uint32_t, 2> grid = {group[0] * random_.between(1, 2), group[1] * random_.between(1, 2)};
    if (random_.chance(40)) grid = {random_.between(1, 40), random_.between(1, kMostThreads / 40)};
    return {.grid = grid, .group = group};
  }

  std::string head() const {
    std::string text = "#include <metal_stdlib>\nusing namespace metal;\n";
    // Numbers that each integer has, and some other for the rest.
    constexpr std::pair<const char*, const char*> kConversions[] = {{"uchar", "0.0f && x < 250.0f"},
                                                                    {"short", "-100.0f && x < 30000.0f"},
                                                                    {"int", "-100.0f && x < 30000.0f"},
                                                                    {"uint", "0.0f && x < 3000000.0f"},
                                                                    {"long", "-1e10f && x < 1e10f"}};
    for (const auto& [type, range] : kConversions) {
      text += std::string("static ") + type + " to_" + type + "(float x) { return x > " + range + " ? " + type +
              "(x) : " + type + "(3); }\n";
    }
    text += "kernel void k(";
    unsigned binding = 0;
    for (const BufferKind& kind : buffer_kinds()) {
      text +=
          std::string(kind.type) + " " + kind.name + " [[buffer(" + std::to_string(binding++) + ")]],\n              ";
    }
    if (together_ != Together::kNothing) {
      text += "uint lid [[thread_index_in_threadgroup]],\n              ";
      text += "uint lane [[thread_index_in_simdgroup]],\n              ";
      text += std::string(rows_ ? "uint2 tsize" : "uint tsize") + " [[threads_per_threadgroup]],\n              ";
      text +=
          std::string(rows_ ? "uint2 tplace" : "uint tplace") + " [[threadgroup_position_in_grid]],\n              ";
    }
    if (rows_) {
      text += "uint2 gid [[thread_position_in_grid]], uint2 gsize [[threads_per_grid]]) {\n";
      text += "  const uint tid = gid.y * gsize.x + gid.x;\n";
    } else {
      text += "uint tid [[thread_position_in_grid]]) {\n";
    }
    if (together_ != Together::kNothing) {
      text += rows_ ? "  const uint tcount = tsize.x * tsize.y;\n  const uint group = tplace.x + tplace.y * 3u;\n"
                    : "  const uint tcount = tsize;\n  const uint group = tplace;\n";
    }
    if (together_ == Together::kThreadgroups) {
      const std::string count = std::to_string(kMostGroup);
      text += "  threadgroup uint shared_u[" + count + "];\n  threadgroup float shared_f[" + count + "];\n";
      text += "  threadgroup atomic_uint shared_a[4];\n  shared_u[lid] = tid * 3u;\n  shared_f[lid] = float(tid);\n";
      text +=
          "  if (lid == 0u) {\n    for (uint i = 0u; i < 4u; ++i) "
          "atomic_store_explicit(&shared_a[i], 5u, memory_order_relaxed);\n  }\n";
      text += std::string("  ") + kBarrier + "\n";
    }
    return text;
  }

  std::string name(const char* kind) { return kind + std::to_string(names_++); }

  // -- blocks

  Statement::Block block(std::string head, Context context) {
    ++context.depth;
    Statement::Block made{.head = std::move(head), .body = {}};
    const std::size_t variables = scope_.variables.size();
    const std::size_t arrays = scope_.arrays.size();
    for (unsigned i = random_.between(1, 4); i > 0 && left_ > 0; --i) {
      --left_;
      made.body.push_back(statement(context));
    }
    // Mostly of what is outside, so that something of the block is seen there.
    made.body.push_back(assignment(context, random_.chance(70) ? variables : scope_.variables.size()));
    scope_.variables.resize(variables);
    scope_.arrays.resize(arrays);
    return made;
  }

  Statement statement(const Context& context) {
    const bool deeper = context.depth < kDeepest;
    const unsigned often = branchy_ ? 2 : 1;
    if (deeper && random_.chance(16 * often)) return branch(context);
    if (deeper && random_.chance(6)) return choice(context);
    if (deeper && random_.chance(12 * often)) return loop(context);
    if (deeper && context.uniform && !context.exchanging && together_ == Together::kThreadgroups &&
        random_.chance(25)) {
      return exchange(context);
    }
    if (together_ != Together::kNothing && random_.chance(25)) return meeting();
    if (context.depth > 0 && random_.chance(12 * often)) {
      if (Statement made = jump(context); !made.text.empty()) return made;
    }
    if (random_.chance(2)) return {.text = "if (" + write_.of(Type::kBool) + ") return;"};
    if (random_.chance(20)) return declaration(context);
    if (random_.chance(6)) return array();
    if (random_.chance(8)) return atomic();
    if (random_.chance(6)) return guarded_load();
    if (random_.chance(6)) return walk();
    if (random_.chance(20)) return store();
    return assignment(context, scope_.variables.size());
  }

  Statement branch(Context context) {
    const bool uniform = random_.chance(30);
    Statement made;
    std::string head = "if (" + write_.of(Type::kBool, uniform) + ") {";
    context.uniform &= uniform;
    made.blocks.push_back(block(std::move(head), context));
    if (random_.chance(50)) made.blocks.push_back(block("} else {", context));
    made.tail = "}";
    return made;
  }

  Statement choice(Context context) {
    const bool uniform = random_.chance(30);
    const unsigned cases = random_.between(2, 9);
    Statement made;
    made.text =
        "switch (" + write_.of(Type::kUint, uniform) + " % " + std::to_string(cases + random_.below(2)) + "u) {";
    context.uniform &= uniform;
    context.breaks = true;
    context.break_uniform = context.uniform;
    for (unsigned i = 0; i < cases; ++i) {
      const bool last = i + 1 == cases && random_.chance(50);
      Statement::Block one = block((last ? "default: {" : "case " + std::to_string(i) + "u: {"), context);
      // Into the next one, now and then.
      one.body.push_back({.text = random_.chance(80) ? "} break;" : "}"});
      made.blocks.push_back(std::move(one));
    }
    made.tail = "}";
    made.opens = false;
    return made;
  }

  // Every loop counts, and ends at a count.
  Statement loop(Context context) {
    const bool uniform = random_.chance(30);
    const std::string count = name("i");
    const std::string most = std::to_string(random_.between(1, 7)) + "u";
    const std::string trips = random_.chance(30) ? most : write_.of(Type::kUint, uniform) + " % " + most;
    const std::string condition = write_.of(Type::kBool, uniform);
    context.uniform &= uniform;
    context.in_loop = context.breaks = true;
    context.loop_uniform = context.break_uniform = context.uniform;
    Statement made;
    made.opens = false;
    scope_.variables.push_back(
        {.name = count, .type = Type::kUint, .uniform = context.uniform, .assignable = false, .small = true});
    const std::size_t place = scope_.variables.size() - 1;
    switch (random_.below(3)) {
      case 0: {
        const bool once = random_.chance(50);
        const std::string bound = count + "n";
        const std::string begin = "for (uint " + count + " = 0u" + (once ? ", " + bound + " = " + trips : "");
        made.blocks.push_back(
            block(begin + "; " + count + " < " + (once ? bound : trips) + "; ++" + count + ") {", context));
        made.tail = "}";
        break;
      }
      case 1:
        made.text = "uint " + count + " = 0u;";
        made.blocks.push_back(
            block("while (" + count + " < " + most + " && " + condition + ") {\n  ++" + count + ";", context));
        made.tail = "}";
        break;
      default:
        made.text = "uint " + count + " = 0u;";
        made.blocks.push_back(block("do {\n  ++" + count + ";", context));
        made.tail = "} while (" + count + " < " + most + " && " + condition + ");";
        break;
    }
    scope_.variables.erase(scope_.variables.begin() + static_cast<std::ptrdiff_t>(place));
    return made;
  }

  Statement jump(const Context& context) {
    const bool ends = random_.chance(50);
    if (!(ends ? context.may_break() : context.may_continue())) return {};
    return {.text = "if (" + write_.of(Type::kBool, context.uniform) + ") " + (ends ? "break;" : "continue;")};
  }

  // Each thread leaves something in the threadgroup's memory, and they read one another's.
  Statement exchange(Context context) {
    Statement made;
    made.text = "shared_u[lid] = " + write_.of(Type::kUint) + ";";
    if (random_.chance(50)) made.text += "\nshared_f[lid] = " + write_.of(Type::kFloat) + ";";
    made.text += std::string("\n") + kBarrier;
    context.exchanging = true;
    scope_.shared = true;
    made.blocks.push_back(block("{", context));
    scope_.shared = false;
    made.tail = std::string("}\n") + kBarrier;
    made.opens = false;
    return made;
  }

  // -- plain statements

  // A variable that differs from thread to thread.
  Statement input() {
    constexpr Type kTypes[] = {Type::kUint,  Type::kUint, Type::kInt,   Type::kInt,   Type::kFloat,
                               Type::kFloat, Type::kHalf, Type::kShort, Type::kUchar, Type::kLong};
    const Type type = random_.chance(20) ? write_.vector_type() : random_.one_of(kTypes);
    const std::string made = name("v");
    std::string text = std::string(name_of(type)) + " " + made + " = " + write_.load(type) + ";";
    scope_.variables.push_back({.name = made, .type = type});
    return {.text = std::move(text)};
  }

  Statement declaration(const Context& context) {
    const bool uniform = context.uniform && random_.chance(25);
    const Type type = random_.chance(22)  ? write_.vector_type()
                      : random_.chance(8) ? Type::kBool
                                          : write_.scalar_type();
    const std::string made = name(uniform ? "u" : "v");
    std::string text = std::string(name_of(type)) + " " + made + " = " + write_.of(type, uniform) + ";";
    scope_.variables.push_back({.name = made, .type = type, .uniform = uniform});
    return {.text = std::move(text)};
  }

  // One of the first `most` that this context may change; null where there is none.
  const Variable* changeable(bool uniform_context, std::size_t most) {
    std::vector<const Variable*> found;
    for (std::size_t i = 0; i < most; ++i) {
      const Variable& variable = scope_.variables[i];
      if (variable.assignable && (!variable.uniform || uniform_context)) found.push_back(&variable);
    }
    return found.empty() ? nullptr : random_.one_of(found);
  }

  Statement assignment(const Context& context, std::size_t most) {
    if (!scope_.arrays.empty() && random_.chance(25)) {
      const Array& array = random_.one_of(scope_.arrays);
      return {.text = array.name + "[" + write_.below(array.count) + "] = " + write_.of(array.element) + ";"};
    }
    const Variable* to = changeable(context.uniform, most);
    if (to == nullptr) return store();
    const bool uniform = to->uniform;
    if (!Expressions::is_scalar(to->type) && random_.chance(60)) {
      constexpr const char* kParts[] = {".x", ".y"};
      const bool indexed = !uniform && count_of(to->type) != 3 && random_.chance(40);
      const std::string part = indexed ? "[" + write_.below(count_of(to->type)) + "]" : random_.one_of(kParts);
      return {.text = to->name + part + " = " + write_.of(element_of(to->type), uniform) + ";"};
    }
    const bool wraps = to->type == Type::kUint || to->type == Type::kFloat || to->type == Type::kHalf;
    const char* sign = !wraps || random_.chance(50) ? " = " : random_.chance(50) ? " += " : " *= ";
    return {.text = to->name + sign + write_.of(to->type, uniform) + ";"};
  }

  Statement array() {
    constexpr Type kElements[] = {Type::kUint,   Type::kUint,   Type::kFloat,  Type::kUchar,
                                  Type::kFloat4, Type::kFloat3, Type::kUchar4, Type::kShort};
    const Array made{.name = name("a"), .element = random_.one_of(kElements), .count = 2U << random_.below(3)};
    const std::string declared =
        std::string(name_of(made.element)) + " " + made.name + "[" + std::to_string(made.count) + "]";
    std::string text;
    if (random_.chance(50)) {
      text = declared + " = {";
      for (unsigned i = 0; i < made.count; ++i) {
        text += std::string(i != 0 ? ", " : "") + name_of(made.element) + "(" + write_.of(made.element) + ")";
      }
      text += "};";
    } else {
      text = declared + ";\nfor (uint i = 0u; i < " + std::to_string(made.count) + "u; ++i) " + made.name +
             "[i] = " + write_.of(made.element) + ";";
    }
    scope_.arrays.push_back(made);
    return {.text = std::move(text)};
  }

  struct Output {
    const char* name;
    Type type;
    unsigned places;
  };
  static constexpr Output kOutputs[] = {
      {"out_u", Type::kUint, 4}, {"out_f", Type::kFloat, 4}, {"out_b", Type::kUchar, 2}, {"out_s", Type::kShort, 2},
      {"out_h", Type::kHalf, 2}, {"out_l", Type::kLong, 2},  {"out_v", Type::kFloat4, 2}};

  static std::string own(const Output& output, const std::string& place) {
    return std::string(output.name) + "[tid * " + std::to_string(output.places) + "u + " + place + "]";
  }
  static std::string own(const Output& output, unsigned place) { return own(output, std::to_string(place) + "u"); }

  Statement store() {
    const Output& output = random_.one_of(kOutputs);
    const std::string place =
        random_.chance(20) ? write_.below(output.places) : std::to_string(random_.below(output.places)) + "u";
    return {.text = own(output, place) + " = " + write_.of(output.type) + ";"};
  }

  // Of one operation for each place, so that no order shows.
  Statement atomic() {
    constexpr const char* kOperations[] = {"add", "min", "max", "or", "and", "xor"};
    if (together_ == Together::kThreadgroups && random_.chance(40)) {
      return {.text = "atomic_fetch_add_explicit(&shared_a[" + write_.below(4) + "], " + write_.of(Type::kUint) +
                      ", memory_order_relaxed);"};
    }
    if (random_.chance(25)) {
      const unsigned which = random_.below(2);
      return {.text = std::string("atomic_fetch_") + (which == 0 ? "min" : "max") + "_explicit(&out_c[" +
                      std::to_string(which * 4) + "u + " + write_.below(4) + "], " + write_.of(Type::kInt) +
                      ", memory_order_relaxed);"};
    }
    const unsigned which = random_.below(6);
    return {.text = std::string("atomic_fetch_") + kOperations[which] + "_explicit(&out_a[" +
                    std::to_string(which * 4) + "u + " + write_.below(4) + "], " + write_.of(Type::kUint) +
                    ", memory_order_relaxed);"};
  }

  // An index that wraps in the lanes that do not go there.
  Statement guarded_load() {
    const std::string back = std::to_string(random_.between(1, 40)) + "u";
    const std::string made = name("v");
    std::string text = "uint " + made + " = 7u;\n";
    if (random_.chance(50)) {
      text += "if (tid >= " + back + ") " + made + " = in_u[tid - " + back + "];";
    } else {
      text += made + " = tid < " + back + " ? in_u[0] : in_u[tid * c_stride - " + back + "];";
    }
    scope_.variables.push_back({.name = made, .type = Type::kUint});
    return {.text = std::move(text)};
  }

  // Some threads end before anything is written, by their position.
  Statement guard() {
    if (!rows_) return {.text = "if (tid >= " + std::to_string(random_.between(1, 200)) + "u) return;"};
    return {.text = "if (gid.x >= " + std::to_string(random_.between(1, 40)) +
                    "u || gid.y >= " + std::to_string(random_.between(1, 18)) + "u) return;"};
  }

  // A pointer that goes on from round to round: at most seven times four.
  Statement walk() {
    const std::string made = name("v");
    const std::string at = name("p");
    const bool real = random_.chance(50);
    const std::string trips = random_.chance(50) ? "5u" : "(" + write_.of(Type::kUint) + " % 7u)";
    std::string text = std::string(real ? "float " : "uint ") + made + " = 0;\n";
    text += std::string("device const ") + (real ? "float* " : "uint* ") + at + " = " + (real ? "in_f" : "in_u") +
            " + tid" + (random_.chance(50) ? " * c_stride;" : ";");
    text += "\nfor (uint i = 0u, n = " + trips + "; i < n; ++i) {\n  " + made + " += *" + at + ";\n  " + at +
            " += " + (random_.chance(50) ? "c_stride" : "1") + ";\n}";
    scope_.variables.push_back({.name = made, .type = real ? Type::kFloat : Type::kUint});
    return {.text = std::move(text)};
  }

  // What lanes of a simdgroup or a quad do together, those of them that come here.
  Statement meeting() {
    const unsigned which = random_.below(10);
    // Votes of quads are not for many lanes at once, and the whole program goes with them.
    const bool quad = random_.chance(which == 9 ? 3 : 25);
    const std::string group = quad ? "quad_" : "simd_";
    const unsigned width = quad ? 4 : 32;
    const bool together_real = random_.chance(25);
    constexpr Type kIntegers[] = {Type::kInt, Type::kUint, Type::kUint, Type::kShort, Type::kUchar};
    Type type = together_real ? (random_.chance(60) ? Type::kFloat : Type::kHalf) : random_.one_of(kIntegers);
    std::string value;
    // A distance, or a lane, that is the same for all.
    const auto same = [&] { return write_.below(width, /*uniform=*/true); };
    if (which < 4 && !together_real) {
      constexpr const char* kReductions[] = {"sum",
                                             "product",
                                             "min",
                                             "max",
                                             "and",
                                             "or",
                                             "xor",
                                             "prefix_inclusive_sum",
                                             "prefix_exclusive_sum",
                                             "prefix_inclusive_product",
                                             "prefix_exclusive_product"};
      value = group + random_.one_of(kReductions) + "(" + name_of(type) + "(" + write_.of(type) + "))";
    } else if (which < 8) {
      if (random_.chance(15)) type = write_.vector_type();
      const std::string given = std::string(name_of(type)) + "(" + write_.of(type) + ")";
      constexpr const char* kMoves[] = {"shuffle_up", "shuffle_down",      "shuffle_xor",
                                        "broadcast",  "shuffle_rotate_up", "shuffle_rotate_down"};
      if (random_.chance(35)) {
        value = group + "shuffle(" + given + ", ushort(" + write_.below(width) + "))";
      } else if (!quad && random_.chance(15)) {
        value = group + "broadcast_first(" + given + ")";
      } else {
        const char* move = random_.one_of(kMoves);
        value = group + move + "(" + given + ", ushort(" + same() + "))";
      }
    } else if (which == 8) {
      type = Type::kBool;
      constexpr const char* kVotes[] = {"any(", "all("};
      value = random_.chance(20) ? group + "is_first()" : group + random_.one_of(kVotes) + write_.of(Type::kBool) + ")";
    } else {
      type = Type::kUint;
      const std::string vote =
          random_.chance(25) ? group + "active_threads_mask()" : group + "ballot(" + write_.of(Type::kBool) + ")";
      value = "uint((" + group + "vote::vote_t)" + vote + ")";
    }
    for (const Variable& variable : scope_.variables) {
      if (variable.assignable && !variable.uniform && variable.type == type && random_.chance(40)) {
        return {.text = variable.name + " = " + value + ";"};
      }
    }
    const std::string made = name("v");
    scope_.variables.push_back({.name = made, .type = type});
    return {.text = std::string(name_of(type)) + " " + made + " = " + value + ";"};
  }

  // What is left in variables goes to the outputs.
  std::vector<Statement> results() {
    std::vector<Statement> made;
    if (together_ == Together::kThreadgroups) {
      made.push_back(
          {.text = std::string(kBarrier) +
                   "\nout_u[tid * 4u + 3u] ^= atomic_load_explicit(&shared_a[lid & 3u], memory_order_relaxed);"});
    }
    unsigned next = 0;
    for (const Variable& variable : scope_.variables) {
      for (const Output& output : kOutputs) {
        if (output.type != variable.type) continue;
        const bool whole = output.type == Type::kUint || output.type == Type::kLong;
        made.push_back({.text = own(output, next++ % output.places) + (whole ? " ^= " : " = ") + variable.name + ";"});
      }
      if (variable.type == Type::kInt || variable.type == Type::kBool) {
        made.push_back({.text = own(kOutputs[0], next++ % 4) + " ^= uint(" + variable.name + ");"});
      } else if (variable.type == Type::kUint2) {
        made.push_back(
            {.text = own(kOutputs[0], next++ % 4) + " ^= " + variable.name + ".x * 3u + " + variable.name + ".y;"});
      } else if (!Expressions::is_scalar(variable.type) && variable.type != Type::kFloat4) {
        made.push_back({.text = own(kOutputs[1], next++ % 4) + " = float(" + variable.name + ".x);"});
      }
    }
    for (const Array& array : scope_.arrays) {
      const std::string last = array.name + "[" + std::to_string(array.count - 1) + "]";
      for (const Output& output : kOutputs) {
        if (output.type == array.element)
          made.push_back({.text = own(output, next++ % output.places) + " = " + last + ";"});
      }
    }
    return made;
  }

  Random random_;
  const Together together_;
  const bool rows_;
  const bool branchy_;  // with more branches, and less in them
  Scope scope_;
  Expressions write_;
  unsigned left_ = 0;
  unsigned names_ = 0;
};

}  // namespace

KernelProgram random_kernel(std::uint64_t seed) { return Maker(seed).make(); }

}  // namespace anymps::fuzz
