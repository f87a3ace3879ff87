// What a kernel asks of whoever launches it, from the metadata that Apple's compiler leaves in its module:
// `!air.kernel` for arguments and limits, `!air.function_constants`, `!air.compile_options`, and the globals in
// threadgroup memory.
//
// Whatever is not known here is refused with its name, never skipped: an option that changes what a kernel computes
// must not pass unseen.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "metal/air/module.h"

namespace anymps::metal::air {

// AIR's address spaces, which are those of the module's pointers.
constexpr unsigned kDeviceSpace = 1;
constexpr unsigned kConstantSpace = 2;
constexpr unsigned kThreadgroupSpace = 3;

// Metal's argument table has so many places for buffers, and as many for threadgroup memory.
constexpr unsigned kMaxBindings = 31;

enum class ArgumentKind {
  // Bound by index: a pointer in `address_space`.
  kBuffer,
  kIndirectBuffer,     // an argument buffer: a struct that holds device addresses
  kThreadgroupBuffer,  // memory whose size the launch says
  // Places in the launch: a 16 or 32 bit integer, or a vector of two or three.
  kThreadPositionInGrid,
  kThreadPositionInThreadgroup,
  kThreadgroupPositionInGrid,
  kThreadsPerGrid,
  kThreadsPerThreadgroup,
  kThreadgroupsPerGrid,
  kDispatchThreadsPerThreadgroup,  // as asked for; kThreadsPerThreadgroup is smaller at the grid's edge
  // The same, always one integer.
  kThreadIndexInThreadgroup,
  kThreadIndexInSimdgroup,
  kThreadIndexInQuadgroup,
  kSimdgroupIndexInThreadgroup,
  kQuadgroupIndexInThreadgroup,
  kThreadsPerSimdgroup,
  kSimdgroupsPerThreadgroup,
  kQuadgroupsPerThreadgroup,
  kDispatchSimdgroupsPerThreadgroup,
  kDispatchQuadgroupsPerThreadgroup,
};

// Metal's word: "buffer", "thread_position_in_grid", ...
std::string_view name_of(ArgumentKind kind);

// What a launch fills in and Metal's attribute of this name asks for; the most components that such an argument has.
std::optional<ArgumentKind> builtin_named(std::string_view name);
unsigned most_components(ArgumentKind kind);

// Whether it is bound by index; the others are filled in by the launch.
constexpr bool is_bound(ArgumentKind kind) { return kind <= ArgumentKind::kThreadgroupBuffer; }

enum class Access { kNone, kRead, kWrite, kReadWrite };

std::string_view name_of(Access access);

// Of a struct that an argument points to.
struct Member {
  std::size_t offset = 0;
  std::size_t size = 0;   // of one element
  std::size_t count = 0;  // of an array's elements; 0: it is none
  std::string type_name;
  std::string name;
  std::vector<Member> members;  // its own, where it is a struct
};

struct Argument {
  unsigned parameter = 0;  // of the LLVM function; arguments are in this order, one for each parameter
  ArgumentKind kind = ArgumentKind::kBuffer;
  std::string name;
  std::string type_name;  // in Metal's language: "float", "uint3", "ELUParams<float>"
  bool unused = false;    // the compiler saw no use of it
  bool optional = false;  // the kernel asks whether anything is bound to it
  // The global of the module whose value, not zero, says that the argument is there, and the function constant that it
  // is computed from. Empty: it always is.
  std::string predicate;
  std::string predicate_constant;

  // Of what is bound by index.
  unsigned binding = 0;
  unsigned count = 1;  // consecutive bindings
  Access access = Access::kNone;
  unsigned address_space = 0;
  std::size_t size = 0;         // of one element, 0 where the type has none (void*)
  std::size_t alignment = 0;    // of one element, 0 likewise
  std::vector<Member> members;  // of one element, where it is a struct that the compiler describes
  std::size_t buffer_size = 0;  // the buffer holds at least so much, because it is used as a reference; 0: nothing said
};

struct FunctionConstant {
  unsigned id = 0;
  std::string name;
  std::string type;    // in Metal's language: "bool", "int"
  std::string global;  // whose initialiser is the value, `_Z5scale.MTL_FC_INIT_3_f`
  bool required = true;
};

struct Version {
  unsigned major = 0;
  unsigned minor = 0;
  unsigned patch = 0;
};

struct Signature {
  std::string kernel;
  std::vector<Argument> arguments;
  std::vector<FunctionConstant> constants;
  std::size_t static_threadgroup_bytes = 0;   // of the module's own globals
  std::optional<unsigned> max_total_threads;  // of one threadgroup
  bool denorms_disabled = false;
  bool fast_math_disabled = false;
  Version air;
  Version metal;
};

// Throws AirError, naming the kernel and the key, when the module has no such kernel or says what is not known here.
Signature read_signature(const llvm::Module& module, std::string_view kernel);

}  // namespace anymps::metal::air
