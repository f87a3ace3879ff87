// Clang keeps a few things to itself that a compiler beside its own has to set. The language has one way to name a
// private member: as an argument of an explicit instantiation.
//
//   struct Secret {
//     using Member = int Thing::*;
//     friend constexpr Member revealed(Secret tag);
//   };
//   template struct Reveal<Secret, &Thing::secret_>;
//   thing.*revealed(Secret{}) = 3;
#pragma once

namespace anymps::metal::frontend {

template <typename Tag, typename Tag::Member kMember>
struct Reveal {
  friend constexpr typename Tag::Member revealed(Tag /*tag*/) { return kMember; }
};

}  // namespace anymps::metal::frontend
