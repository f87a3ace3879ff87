// Calls of the sanitiser (runtime/validator.h) in a thread's code: before each access to memory that threads share,
// where one leaves a variable of the thread, and where a loop begins its next iteration.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "metal/lower/support/kernel_parameter.h"
#include "metal/lower/transform/threadgroup_variables.h"
#include "metal/lower/workgroup/coroutines.h"

namespace anymps::metal::lower::transform {

// Memory that an access is meant for.
struct ValidationObject {
  enum class Kind : std::uint8_t { kBuffer, kThreadgroupBuffer, kThreadgroupVariable, kOwn };
  Kind kind = Kind::kBuffer;  // kOwn: a variable of the thread, or a table of the module
  std::string name;           // of a variable; may be empty where it is the thread's
  unsigned parameter = 0;     // of an argument
  std::uint64_t offset = 0;
  std::uint64_t size = 0;  // of a variable
};

// A place in the kernel that can be at fault.
struct ValidationSite {
  enum class Kind : std::uint8_t { kLoad, kStore, kAtomic, kAtomicLoad, kAtomicStore, kCooperative, kLoop };
  Kind kind = Kind::kLoad;
  bool threadgroup = false;            // the threadgroup's memory, not the device's
  std::uint32_t alignment = 1;         // as declared
  std::uint32_t element = 1;           // of one element of a vector, which is enough on a GPU
  std::vector<std::uint32_t> objects;  // one of these; empty: not known
  std::string place;                   // "file:line", or empty
};

struct ValidationTable {
  std::vector<ValidationObject> objects;
  std::vector<ValidationSite> sites;  // first those of the cooperative calls, in their order
};

inline constexpr std::size_t kMostSites = std::size_t{1} << 21;

// ptr (ptr address, i64 bytes, i32 site, i32 thread): where to access instead, which is there unless it must not
// happen.
inline constexpr char kAccessHook[] = "anymps_validate_access";
// ptr (i64 offset, i64 bytes, i32 site, i32 thread): where to access instead of a place outside a variable of the
// thread or a table of the module.
inline constexpr char kOutsideHook[] = "anymps_validate_outside";
// i1 (i32 site, i32 thread): whether the thread must end.
inline constexpr char kLoopHook[] = "anymps_validate_loop";
// void (): after a fence.
inline constexpr char kFenceHook[] = "anymps_validate_fence";

// `parameters` are of the thread's first parameters; the next one is the threadgroup's memory.
void insert_validation(const workgroup::ThreadCoroutine& thread, std::span<const support::Parameter> parameters,
                       std::span<const ThreadgroupVariable> variables, ValidationTable& table);

}  // namespace anymps::metal::lower::transform
