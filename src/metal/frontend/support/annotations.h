// How what Metal says in attributes is carried through Clang: as `annotate` attributes whose text is this prefix and
// Metal's word, with the attribute's arguments behind it.
#pragma once

namespace anymps::metal::frontend::support {

inline constexpr char kAnnotationPrefix[] = "metal.";

// The section of threadgroup variables without an initialiser, whose memory is not cleared: in the form of the target.
inline constexpr char kUninitialisedSection[] = "metal,undefined";

// An attribute of a kernel's function in a program's module: where its source is, for messages.
inline constexpr char kPlaceAttribute[] = "metal.place";

}  // namespace anymps::metal::frontend::support
