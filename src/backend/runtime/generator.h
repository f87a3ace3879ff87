// The device's random number generator: PyTorch's Philox state in its 44-byte form.
#pragma once

#include <ATen/core/Generator.h>
#include <ATen/core/PhiloxRNGEngine.h>
#include <c10/core/GeneratorImpl.h>

#include <array>
#include <cstdint>
#include <optional>

namespace anymps::backend::runtime {

class MpsGenerator final : public c10::GeneratorImpl {
 public:
  explicit MpsGenerator(std::uint64_t seed = c10::default_rng_seed_val);
  static c10::DeviceType device_type() { return c10::DeviceType::MPS; }

  void set_current_seed(std::uint64_t seed) override;
  std::uint64_t current_seed() const override { return seed_; }
  std::uint64_t seed() override;
  void set_offset(std::uint64_t offset) override { offset_ = offset; }
  std::uint64_t get_offset() const override { return offset_; }
  void set_state(const c10::TensorImpl& state) override;
  c10::intrusive_ptr<c10::TensorImpl> get_state() const override;

  // Where a kernel's stream starts: seed and first Philox index. `count` indices are taken. Locks the generator.
  struct Stream {
    std::uint64_t seed;
    std::uint64_t index;
  };
  Stream take(std::uint64_t count);

 private:
  MpsGenerator* clone_impl() const override;

  static constexpr std::size_t kStateWords = 7;
  std::array<std::uint32_t, kStateWords> words_{};
  std::uint64_t seed_ = 0;
  std::uint64_t offset_ = 0;
};

const at::Generator& default_mps_generator();

// The generator that an operator was given, or the default one; refuses one of another device as PyTorch does.
MpsGenerator* generator_or_default(const std::optional<at::Generator>& generator);

// A CPU generator for operators whose random kernels are the CPU's own, seeded from the stream of the device's
// generator; generators of other devices come back as they are.
at::Generator cpu_generator_for(const at::Generator& generator);

}  // namespace anymps::backend::runtime
