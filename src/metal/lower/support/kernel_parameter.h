// What the parameters of a kernel are given.
#pragma once

namespace anymps::metal::lower::support {

// What a parameter of a kernel is given.
enum class Role {
  kBuffer,             // a pointer from the bindings
  kThreadgroupBuffer,  // memory of the threadgroup: the binding holds its offset
  kPositionInGrid,
  kPositionInThreadgroup,
  kThreadgroupPosition,
  kThreadgroupsPerGrid,
  kThreadsPerGrid,
  kThreadsPerThreadgroup,      // of this threadgroup: the last ones may be smaller
  kFullThreadsPerThreadgroup,  // as dispatched
  kIndexInThreadgroup,
  kIndexInSimdgroup,
  kSimdgroupIndex,
  kIndexInQuadgroup,
  kQuadgroupIndex,
  kThreadsPerSimdgroup,
  kSimdgroupsPerThreadgroup,
  kQuadgroupsPerThreadgroup,
  kFullSimdgroupsPerThreadgroup,  // as dispatched
  kFullQuadgroupsPerThreadgroup,
};

struct Parameter {
  Role role = Role::kBuffer;
  unsigned binding = 0;
  bool unchanging = false;  // read only, and small: a scalar passed by reference
};

}  // namespace anymps::metal::lower::support
