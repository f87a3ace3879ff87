// Matrix products with weights of four bits. The packed form is the device's own business: here the bytes stay in the
// order in which they came, in a tensor of the shape that every device uses.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <torch/library.h>

#include "backend/dispatch/cpu_call.h"
#include "backend/ops/registration.h"
#include "backend/runtime/memory.h"

namespace anymps::backend::ops {
namespace {

constexpr std::int64_t kRowsPerTile = 8;

at::Tensor convert_weight_to_int4pack(const at::Tensor& weight, std::int64_t inner_k_tiles) {
  constexpr const char* kName = "_convert_weight_to_int4pack_mps";
  TORCH_CHECK(weight.dim() == 2, kName, " : expect weight to be 2D tensor.");
  TORCH_CHECK(weight.scalar_type() == at::kByte, kName, " : expect weight to be kByte.");
  TORCH_CHECK(inner_k_tiles == 2 || inner_k_tiles == 4 || inner_k_tiles == 8, kName,
              " : innerKTiles need to be 2, 4, or 8, got ", inner_k_tiles);
  const at::Tensor bytes = weight.contiguous();
  const std::int64_t rows = bytes.size(0);
  const std::int64_t columns = bytes.size(1) * 2;
  at::Tensor packed = at::empty({rows / kRowsPerTile, columns / (16 * inner_k_tiles), 32, inner_k_tiles / 2},
                                bytes.options().dtype(at::kInt));
  runtime::wait_for_commands(*bytes.storage().unsafeGetStorageImpl());
  std::memcpy(packed.mutable_data_ptr(), bytes.const_data_ptr(), std::min(packed.nbytes(), bytes.nbytes()));
  return packed;
}

// The even column lies in the high half of a byte; a value stands for (q - 8) * scale + zero of its group.
at::Tensor unpack(const at::Tensor& packed, std::int64_t columns, std::int64_t group,
                  const at::Tensor& scale_and_zero) {
  const at::Tensor bytes = packed.view(at::kByte).view({-1, columns / 2});
  const at::Tensor high = bytes.bitwise_right_shift(4);
  const at::Tensor low = bytes.bitwise_and(0xF);
  const at::Tensor values = at::stack({high, low}, -1).view({bytes.size(0), columns}).to(at::kFloat) - 8;
  const at::Tensor per_row = scale_and_zero.to(at::kFloat).transpose(0, 1);
  const at::Tensor scale = per_row.select(-1, 0).repeat_interleave(group, 1);
  const at::Tensor zero = per_row.select(-1, 1).repeat_interleave(group, 1);
  return values * scale + zero;
}

at::Tensor weight_int4pack_mm(const at::Tensor& a, const at::Tensor& b, std::int64_t group,
                              const at::Tensor& scale_and_zero) {
  constexpr const char* kName = "_weight_int4pack_mm_mps";
  TORCH_CHECK(a.scalar_type() == at::kBFloat16 || a.scalar_type() == at::kHalf || a.scalar_type() == at::kFloat, kName,
              " : expect A to be either 32-bit or 16-bit float tensor.");
  TORCH_CHECK(a.is_contiguous(), kName, " : expect A to be contiguous.");
  TORCH_CHECK(a.dim() == 2, kName, " : expect A to be 2D tensor.");
  TORCH_CHECK(b.scalar_type() == at::kInt, kName, " : expect B to be int32 tensor.");
  TORCH_CHECK(b.is_contiguous(), kName, " : expect B to be contiguous.");
  TORCH_CHECK(b.dim() == 4, kName, " : expect B to 4d tensor.");
  TORCH_CHECK(group == 32 || group == 64 || group == 128 || group == 256, kName,
              ": expect qGroupSize to be 32, 64, 128 or 256, got ", group);
  const std::int64_t rows = b.size(0) * kRowsPerTile;
  TORCH_CHECK(scale_and_zero.dim() == 3 && scale_and_zero.size(1) == rows && scale_and_zero.size(2) == 2, kName,
              ": expect qScaleAndZeros to be 3d tensor with sizes [:, ", rows, ", 2]");
  dispatch::CpuCall cpu;
  const at::Tensor weight = unpack(cpu(b), a.size(1), group, cpu(scale_and_zero));
  return cpu.back(cpu(a).to(at::kFloat).mm(weight.t()).to(a.scalar_type()));
}

}  // namespace

void register_quantized(torch::Library& m) {
  m.impl("_convert_weight_to_int4pack", convert_weight_to_int4pack);
  m.impl("_weight_int4pack_mm", weight_int4pack_mm);
}

}  // namespace anymps::backend::ops
