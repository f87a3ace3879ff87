// Clang keeps a few things to itself that a compiler beside its own has to set. The language has one way to name a
// private member: as an argument of an explicit instantiation, which stands in a namespace around this one.
//
//   namespace mine {
//   struct Secret : support::PrivateMember<Secret, int Thing::*> {};
//   }
//   template struct support::Reveal<mine::Secret, &Thing::secret_>;
//   thing.*revealed(mine::Secret{}) = 3;
#pragma once

namespace anymps::metal::frontend::support {

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wnon-template-friend"  // it is one function a tag, as intended
#endif
template <typename Tag, typename Type>
struct PrivateMember {
  using Member = Type;
  friend constexpr Type revealed(Tag tag);
};
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

template <typename Tag, typename Tag::Member kMember>
struct Reveal {
  friend constexpr typename Tag::Member revealed(Tag /*tag*/) { return kMember; }
};

}  // namespace anymps::metal::frontend::support
