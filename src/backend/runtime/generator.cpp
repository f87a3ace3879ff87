#include "backend/runtime/generator.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Functions.h>
#include <ATen/Utils.h>

#include <cstring>
#include <mutex>

#include "backend/runtime/memory.h"
#include "gpu/philox.h"

namespace anymps::backend::runtime {

MpsGenerator::MpsGenerator(std::uint64_t seed)
    : c10::GeneratorImpl(kMpsDevice, c10::DispatchKeySet(c10::DispatchKey::MPS)), seed_(seed) {}

void MpsGenerator::set_current_seed(std::uint64_t seed) {
  seed_ = seed;
  offset_ = 0;
  words_.fill(1);
  words_[5] = static_cast<std::uint32_t>(seed);
  words_[6] = static_cast<std::uint32_t>(seed >> 32);
}

std::uint64_t MpsGenerator::seed() {
  const std::uint64_t random = c10::detail::getNonDeterministicRandom();
  set_current_seed(random);
  return random;
}

c10::intrusive_ptr<c10::TensorImpl> MpsGenerator::get_state() const {
  constexpr std::size_t kWordBytes = kStateWords * sizeof(std::uint32_t);
  at::Tensor state = at::empty({static_cast<std::int64_t>(kWordBytes + 2 * sizeof(std::uint64_t))},
                               at::TensorOptions(at::kByte).device(at::kCPU));
  auto* bytes = state.mutable_data_ptr<std::uint8_t>();
  std::memcpy(bytes, words_.data(), kWordBytes);
  std::memcpy(bytes + kWordBytes, &seed_, sizeof seed_);
  std::memcpy(bytes + kWordBytes + sizeof seed_, &offset_, sizeof offset_);
  return state.getIntrusivePtr();
}

void MpsGenerator::set_state(const c10::TensorImpl& state) {
  constexpr std::size_t kWordBytes = kStateWords * sizeof(std::uint32_t);
  at::detail::check_rng_state(state);
  TORCH_CHECK(static_cast<std::size_t>(state.numel()) == kWordBytes + 2 * sizeof(std::uint64_t),
              "RNG state is wrong size");
  const auto* bytes = state.data_dtype_initialized<std::uint8_t>();
  std::memcpy(words_.data(), bytes, kWordBytes);
  std::memcpy(&seed_, bytes + kWordBytes, sizeof seed_);
  std::memcpy(&offset_, bytes + kWordBytes + sizeof seed_, sizeof offset_);
}

MpsGenerator::Stream MpsGenerator::take(std::uint64_t count) {
  std::lock_guard lock(mutex_);
  const Stream stream{seed_, offset_};
  offset_ += count;
  return stream;
}

MpsGenerator* MpsGenerator::clone_impl() const {
  auto* copy = new MpsGenerator(seed_);
  copy->words_ = words_;
  copy->offset_ = offset_;
  return copy;
}

const at::Generator& default_mps_generator() {
  static const at::Generator generator = [] {
    auto fresh = at::make_generator<MpsGenerator>();
    fresh.set_current_seed(c10::detail::getNonDeterministicRandom());
    return fresh;
  }();
  return generator;
}

MpsGenerator* generator_or_default(const std::optional<at::Generator>& generator) {
  return at::get_generator_or_default<MpsGenerator>(generator, default_mps_generator());
}

at::Generator cpu_generator_for(const at::Generator& generator) {
  if (!generator.defined() || generator.device().type() != c10::DeviceType::MPS) return generator;
  const MpsGenerator::Stream stream = generator.get<MpsGenerator>()->take(1);
  const gpu::PhiloxBlock bits = gpu::philox(stream.seed, stream.index);
  return at::detail::createCPUGenerator(std::uint64_t{bits[0]} << 32 | bits[1]);
}

}  // namespace anymps::backend::runtime
