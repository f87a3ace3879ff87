#include "metal/abi/tensor_operation.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "gpu/support/float16.h"

namespace anymps::metal::abi {
namespace {

constexpr std::pair<std::string_view, TensorElement> kNames[] = {
    {"f32", TensorElement::kFloat}, {"f16", TensorElement::kHalf}, {"b16", TensorElement::kBfloat},
    {"bf", TensorElement::kBfloat}, {"i8", TensorElement::kInt8},  {"ui8", TensorElement::kUint8},
    {"i32", TensorElement::kInt32}};

template <typename T>
T bits_at(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

// Products are summed as float, those of integers as int.
template <typename Sum>
Sum read(TensorElement element, const std::byte* from) {
  switch (element) {
    case TensorElement::kFloat:
      return static_cast<Sum>(bits_at<float>(from));
    case TensorElement::kHalf:
      return static_cast<Sum>(static_cast<float>(bits_at<gpu::support::float16>(from)));
    case TensorElement::kBfloat:
      return static_cast<Sum>(std::bit_cast<float>(static_cast<std::uint32_t>(bits_at<std::uint16_t>(from)) << 16));
    case TensorElement::kInt8:
      return static_cast<Sum>(bits_at<std::int8_t>(from));
    case TensorElement::kUint8:
      return static_cast<Sum>(bits_at<std::uint8_t>(from));
    case TensorElement::kInt32:
      return static_cast<Sum>(bits_at<std::int32_t>(from));
  }
  return Sum{};
}

template <typename T>
void put(T value, std::byte* to) {
  std::memcpy(to, &value, sizeof value);
}

void write(TensorElement element, float value, std::byte* to) {
  switch (element) {
    case TensorElement::kFloat:
      return put(value, to);
    case TensorElement::kHalf:
      return put(static_cast<gpu::support::float16>(value), to);
    case TensorElement::kBfloat: {
      const auto bits = std::bit_cast<std::uint32_t>(value);
      const std::uint32_t rounded = value != value ? bits | 0x400000 : bits + 0x7FFF + (bits >> 16 & 1);
      return put(static_cast<std::uint16_t>(rounded >> 16), to);
    }
    default:  // sums of floats are floats
      return;
  }
}
void write(TensorElement element, std::int32_t value, std::byte* to) {
  if (element == TensorElement::kInt32) return put(value, to);
  write(element, static_cast<float>(value), to);
}

// A tensor in memory.
class Memory {
 public:
  explicit Memory(const TensorOperand& operand) : at_(operand.data), element_(operand.element) {
    std::memcpy(&header_, at_, sizeof header_);
  }
  std::int64_t extent(unsigned dimension) const { return number(dimension); }
  std::int64_t stride(unsigned rank, unsigned dimension) const { return number(rank + dimension); }
  std::byte* element(std::int64_t index) const { return header_.data + index * bytes_of(element_); }
  TensorElement type() const { return element_; }

 private:
  std::int64_t number(unsigned index) const {
    return bits_at<std::int64_t>(at_ + sizeof header_ + index * sizeof(std::int64_t));
  }
  const std::byte* at_;
  TensorElement element_;
  TensorHeader header_;
};

// The simdgroup's calls, lane by lane.
class Calls {
 public:
  Calls(const Simdgroup& simdgroup, std::uint32_t mask) : mask_(mask) {
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      std::memcpy(&calls_[lane], simdgroup.given[lane], sizeof calls_[lane]);
    }
  }
  const TensorCall* of(unsigned lane) const { return (mask_ >> lane & 1) != 0 ? calls_[lane] : nullptr; }

 private:
  std::array<const TensorCall*, kLanes> calls_;
  std::uint32_t mask_;
};

using Role = TensorOperand TensorCall::*;

constexpr std::uint32_t kSide = CooperativeLayout::kFragment;
template <typename Sum>
using Block = std::array<std::array<Sum, kSide>, kSide>;  // rows of columns

// One operand, read block by block. Elements beyond it are zero.
template <typename Sum>
class Source {
 public:
  Source(const Calls& calls, const TensorCall& call, Role role, const CooperativeLayout& layout)
      : calls_(calls),
        call_(call),
        role_(role),
        layout_(layout),
        in_memory_((call.*role).where == TensorOperand::Where::kMemory),
        turns_(layout.transposed && (in_memory_ || !layout.turned())) {}

  // That begins there: (row, column) of the product's operand, whichever way it is stored.
  void read_block(std::int64_t row, std::int64_t column, Block<Sum>& block) const {
    if (turns_) std::swap(row, column);
    if (in_memory_) {
      from_memory(row, column, block);
    } else {
      from_lanes(row, column, block);
    }
  }

 private:
  Sum& place(Block<Sum>& block, std::uint32_t row, std::uint32_t column) const {
    return turns_ ? block[column][row] : block[row][column];
  }

  void from_memory(std::int64_t row, std::int64_t column, Block<Sum>& block) const {
    const Memory memory(call_.*role_);
    const std::int64_t columns = memory.extent(0);
    const std::int64_t rows = memory.extent(1);
    const std::int64_t across = memory.stride(2, 0);
    const std::int64_t down = memory.stride(2, 1);
    for (std::uint32_t r = 0; r < kSide; ++r) {
      for (std::uint32_t c = 0; c < kSide; ++c) {
        const bool there = row + r < rows && column + c < columns;
        place(block, r, c) =
            there ? read<Sum>(memory.type(), memory.element((row + r) * down + (column + c) * across)) : Sum{};
      }
    }
  }

  // Of a scope of one simdgroup or thread, which holds all fragments.
  void from_lanes(std::int64_t row, std::int64_t column, Block<Sum>& block) const {
    const TensorElement element = (call_.*role_).element;
    const auto value = [&](const TensorCall& call, std::uint32_t slot) {
      return read<Sum>(element, (call.*role_).data + sizeof(CooperativeTensorHeader) + slot * bytes_of(element));
    };
    block = {};
    const auto first_row = static_cast<std::uint32_t>(row);
    const auto first_column = static_cast<std::uint32_t>(column);
    if (layout_.alone()) {
      for (std::uint32_t r = 0; r < kSide && first_row + r < layout_.rows; ++r) {
        for (std::uint32_t c = 0; c < kSide && first_column + c < layout_.columns; ++c)
          place(block, r, c) = value(call_, (first_row + r) * layout_.columns + first_column + c);
      }
      return;
    }
    const std::uint32_t rows = layout_.turned() ? layout_.columns : layout_.rows;
    const std::uint32_t columns = layout_.turned() ? layout_.rows : layout_.columns;
    const std::uint32_t fragment = first_row / kSide * layout_.fragment_columns() + first_column / kSide;
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      const TensorCall* call = calls_.of(lane);
      if (call == nullptr) continue;
      for (std::uint32_t slot = 0; slot < CooperativeLayout::kSlots; ++slot) {
        const auto at = layout_.in_fragment(lane, slot);
        if (first_row + at.row >= rows || first_column + at.column >= columns) continue;
        place(block, at.row, at.column) = value(*call, layout_.slot_of(fragment, slot));
      }
    }
  }

  const Calls& calls_;
  const TensorCall& call_;
  const Role role_;
  const CooperativeLayout layout_;
  const bool in_memory_;
  const bool turns_;  // what is read, to have the product's operand
};

// Where sums go: a block of the destination that this simdgroup, or thread, has.
template <typename Sum>
class Destination {
 public:
  Destination(const Calls& calls, const TensorCall& call, const CooperativeLayout& layout)
      : calls_(calls), call_(call), layout_(layout) {}

  // body(element, row, column) for those of block number `index` of this simdgroup.
  template <typename Body>
  void each(std::uint32_t first_row, std::uint32_t first_column, std::uint32_t index, Body body) const {
    const TensorElement type = call_.destination.element;
    if (call_.destination.where == TensorOperand::Where::kMemory) {
      const Memory memory(call_.destination);
      for (std::uint32_t r = 0; r < kSide; ++r) {
        for (std::uint32_t c = 0; c < kSide; ++c) {
          const std::int64_t row = first_row + r;
          const std::int64_t column = first_column + c;
          if (row >= layout_.rows || row >= memory.extent(1)) continue;
          if (column >= layout_.columns || column >= memory.extent(0)) continue;
          body(memory.element(row * memory.stride(2, 1) + column * memory.stride(2, 0)), r, c);
        }
      }
      return;
    }
    const auto element = [&](const TensorCall& call, std::uint32_t slot) {
      return call.destination.data + sizeof(CooperativeTensorHeader) + slot * bytes_of(type);
    };
    if (layout_.alone()) {
      for (std::uint32_t r = 0; r < kSide && first_row + r < layout_.rows; ++r) {
        for (std::uint32_t c = 0; c < kSide && first_column + c < layout_.columns; ++c)
          body(element(call_, (first_row + r) * layout_.columns + first_column + c), r, c);
      }
      return;
    }
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      const TensorCall* call = calls_.of(lane);
      if (call == nullptr) continue;
      for (std::uint32_t slot = 0; slot < CooperativeLayout::kSlots; ++slot) {
        const auto at = layout_.in_fragment(lane, slot);
        body(element(*call, layout_.slot_of(index, slot)), at.row, at.column);
      }
    }
  }

  void read_block(std::uint32_t row, std::uint32_t column, std::uint32_t index, Block<Sum>& sums) const {
    each(row, column, index, [&](const std::byte* from, std::uint32_t r, std::uint32_t c) {
      sums[r][c] = read<Sum>(call_.destination.element, from);
    });
  }
  void write_block(std::uint32_t row, std::uint32_t column, std::uint32_t index, const Block<Sum>& sums) const {
    each(row, column, index,
         [&](std::byte* to, std::uint32_t r, std::uint32_t c) { write(call_.destination.element, sums[r][c], to); });
  }

  // What is added to is as valid as it was, at least: PyTorch's conv1d adds products that end before one another.
  void set_valid(std::int64_t columns, std::int64_t rows, bool accumulates) const {
    if (call_.destination.where == TensorOperand::Where::kMemory) return;
    const auto within = [](std::int64_t extent, std::uint32_t most) {
      return static_cast<std::int32_t>(std::clamp<std::int64_t>(extent, 0, most));
    };
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      const TensorCall* call = calls_.of(lane);
      if (call == nullptr || (layout_.alone() && call != &call_)) continue;
      auto header = bits_at<CooperativeTensorHeader>(call->destination.data);
      if (!accumulates) header.valid_columns = header.valid_rows = 0;
      header.valid_columns = std::max(header.valid_columns, within(columns, layout_.columns));
      header.valid_rows = std::max(header.valid_rows, within(rows, layout_.rows));
      put(header, call->destination.data);
    }
  }

 private:
  const Calls& calls_;
  const TensorCall& call_;
  const CooperativeLayout layout_;
};

// sum += left * right, along the inner dimension, each without rounding before.
#if defined(__x86_64__)
#define ANYMPS_WITH_FMA __attribute__((target_clones("fma", "default")))
#else
#define ANYMPS_WITH_FMA
#endif
ANYMPS_WITH_FMA void add_product(const Block<float>& left, const Block<float>& right, std::uint32_t inner,
                                 Block<float>& sum) {
  for (std::uint32_t k = 0; k < inner; ++k) {
    for (std::uint32_t r = 0; r < kSide; ++r) {
      for (std::uint32_t c = 0; c < kSide; ++c) sum[r][c] = std::fma(left[r][k], right[k][c], sum[r][c]);
    }
  }
}
ANYMPS_WITH_FMA void add_outer_product(const std::array<float, kSide>& left, const std::array<float, kSide>& right,
                                       Block<float>& sum) {
  for (std::uint32_t r = 0; r < kSide; ++r) {
    for (std::uint32_t c = 0; c < kSide; ++c) sum[r][c] = std::fma(left[r], right[c], sum[r][c]);
  }
}
#undef ANYMPS_WITH_FMA
// Whole numbers wrap.
void add_product(const Block<std::int32_t>& left, const Block<std::int32_t>& right, std::uint32_t inner,
                 Block<std::int32_t>& sum) {
  const auto wide = [](std::int32_t x) { return static_cast<std::uint32_t>(x); };
  for (std::uint32_t k = 0; k < inner; ++k) {
    for (std::uint32_t r = 0; r < kSide; ++r) {
      for (std::uint32_t c = 0; c < kSide; ++c)
        sum[r][c] = static_cast<std::int32_t>(wide(sum[r][c]) + wide(left[r][k]) * wide(right[k][c]));
    }
  }
}

// body(first row, first column, number among this simdgroup's) for each of its blocks of the destination.
template <typename Body>
void each_block(const TensorCall& call, const CooperativeLayout& layout, Body body) {
  const std::uint32_t count = layout.fragments_of_simdgroup();
  const std::uint32_t first = layout.alone() ? 0 : call.simdgroup % layout.simdgroups() * count;
  for (std::uint32_t i = 0; i < count && first + i < layout.fragments(); ++i) {
    body((first + i) / layout.fragment_columns() * kSide, (first + i) % layout.fragment_columns() * kSide, i);
  }
}

template <typename Sum>
void matmul2d(const Calls& calls, const TensorCall& call) {
  Matmul2dDescriptor d;
  std::memcpy(&d, call.descriptor, sizeof d);
  const auto size = [](std::int64_t extent) { return static_cast<std::uint32_t>(std::max<std::int64_t>(extent, 0)); };
  const auto extent = [](const TensorOperand& operand, unsigned dimension, std::int64_t otherwise) {
    return operand.where == TensorOperand::Where::kMemory ? Memory(operand).extent(dimension) : otherwise;
  };
  const std::int64_t left_inner = extent(call.left, d.transpose_left ? 1 : 0, d.k);
  const std::int64_t right_inner = extent(call.right, d.transpose_right ? 0 : 1, d.k);
  std::int64_t inner = d.k;
  if (inner < 0) inner = call.left.where == TensorOperand::Where::kMemory ? left_inner : right_inner;
  const std::uint32_t m = size(d.m);
  const std::uint32_t n = size(d.n);
  const std::uint32_t k = size(d.k);
  const auto stored = [&](std::uint32_t rows, std::uint32_t columns, bool transposed) {
    if (transposed) std::swap(rows, columns);
    return CooperativeLayout{rows, columns, call.threads, transposed};
  };
  const Source<Sum> left(calls, call, &TensorCall::left, stored(m, k, d.transpose_left));
  const Source<Sum> right(calls, call, &TensorCall::right, stored(k, n, d.transpose_right));
  const CooperativeLayout layout{m, n, call.threads};
  const Destination<Sum> destination(calls, call, layout);
  each_block(call, layout, [&](std::uint32_t row, std::uint32_t column, std::uint32_t index) {
    Block<Sum> sums{};
    if (d.mode == kMultiplyAccumulate) destination.read_block(row, column, index, sums);
    for (std::int64_t at = 0; at < inner; at += kSide) {
      Block<Sum> a;
      Block<Sum> b;
      left.read_block(row, at, a);
      right.read_block(at, column, b);
      add_product(a, b, static_cast<std::uint32_t>(std::min<std::int64_t>(inner - at, kSide)), sums);
    }
    destination.write_block(row, column, index, sums);
  });
  destination.set_valid(extent(call.right, d.transpose_right ? 1 : 0, d.n),
                        extent(call.left, d.transpose_left ? 0 : 1, d.m), d.mode == kMultiplyAccumulate);
}

// Activations (channels, width, height, batch) and weights (outputs, channels, width, height).
class Convolution {
 public:
  Convolution(const Calls& calls, const TensorCall& call)
      : call_(call),
        activations_(call.left),
        weights_(call.right),
        d_(descriptor_of(call)),
        layout_(layout_of(d_, call)),
        destination_(calls, call, layout_) {
    std::memcpy(offsets_.data(), call.offsets, sizeof offsets_);
    channels_ = std::min(activations_.extent(0), weights_.extent(1));
    if (d_.source[0] >= 0) channels_ = std::min<std::int64_t>(channels_, d_.source[0]);
  }

  void run() {
    each_block(call_, layout_, [&](std::uint32_t row, std::uint32_t column, std::uint32_t index) {
      Block<float> sums{};
      if (d_.mode == kMultiplyAccumulate) destination_.read_block(row, column, index, sums);
      for (std::int32_t y = 0; y < d_.kernel[1]; ++y) {
        for (std::int32_t x = 0; x < d_.kernel[0]; ++x) add(row, column, x, y, sums);
      }
      destination_.write_block(row, column, index, sums);
    });
    destination_.set_valid(weights_.extent(0), layout_.rows, d_.mode == kMultiplyAccumulate);
  }

 private:
  static Convolution2dDescriptor descriptor_of(const TensorCall& call) {
    Convolution2dDescriptor d;
    std::memcpy(&d, call.descriptor, sizeof d);
    return d;
  }
  static CooperativeLayout layout_of(const Convolution2dDescriptor& d, const TensorCall& call) {
    const auto size = [&](unsigned i) { return static_cast<std::uint32_t>(std::max(d.destination[i], 0)); };
    return {size(1) * size(2) * size(3), size(0), call.threads};
  }

  // Where the window of an output reaches: the offset is its middle's, rounded up.
  std::int64_t input(unsigned axis, std::int64_t output, std::int32_t tap) const {
    const std::int64_t middle = (std::int64_t{d_.kernel[axis] - 1} * d_.dilations[axis] + 1) / 2;
    return offsets_[axis] + output * d_.strides[axis] + std::int64_t{tap} * d_.dilations[axis] - middle;
  }

  void add(std::uint32_t row, std::uint32_t column, std::int32_t tap_x, std::int32_t tap_y, Block<float>& sums) const {
    const auto width = static_cast<std::uint32_t>(std::max(d_.destination[1], 1));
    const auto height = static_cast<std::uint32_t>(std::max(d_.destination[2], 1));
    std::array<std::int64_t, kSide> pixels;  // where the channels of each row's input begin; -1: outside
    for (std::uint32_t r = 0; r < kSide; ++r) {
      const std::uint32_t at = row + r;
      const std::int64_t x = input(0, at % width, tap_x);
      const std::int64_t y = input(1, at / width % height, tap_y);
      const std::int64_t batch = at / width / height;
      const bool there = at < layout_.rows && x >= 0 && x < activations_.extent(1) && y >= 0 &&
                         y < activations_.extent(2) && batch < activations_.extent(3);
      pixels[r] =
          there ? x * activations_.stride(4, 1) + y * activations_.stride(4, 2) + batch * activations_.stride(4, 3)
                : kOutside;
    }
    if (tap_x >= weights_.extent(2) || tap_y >= weights_.extent(3)) return;
    const std::int64_t tap = tap_x * weights_.stride(4, 2) + tap_y * weights_.stride(4, 3);
    for (std::int64_t channel = 0; channel < channels_; ++channel) {
      std::array<float, kSide> a;
      std::array<float, kSide> w;
      for (std::uint32_t r = 0; r < kSide; ++r) {
        a[r] = pixels[r] == kOutside
                   ? 0
                   : read<float>(activations_.type(),
                                 activations_.element(pixels[r] + channel * activations_.stride(4, 0)));
      }
      const std::int64_t weights = tap + channel * weights_.stride(4, 1);
      for (std::uint32_t c = 0; c < kSide; ++c) {
        w[c] = column + c < weights_.extent(0)
                   ? read<float>(weights_.type(), weights_.element(weights + (column + c) * weights_.stride(4, 0)))
                   : 0;
      }
      add_outer_product(a, w, sums);
    }
  }

  static constexpr std::int64_t kOutside = std::numeric_limits<std::int64_t>::min();
  const TensorCall& call_;
  const Memory activations_;
  const Memory weights_;
  const Convolution2dDescriptor d_;
  const CooperativeLayout layout_;
  const Destination<float> destination_;
  std::array<std::int32_t, 2> offsets_;
  std::int64_t channels_;
};

bool is_integer(const TensorOperand& operand) {
  return operand.element == TensorElement::kInt8 || operand.element == TensorElement::kUint8;
}

void perform_call(const Calls& calls, const TensorCall& call) {
  if (call.kind == TensorCall::Kind::kConvolution2d) {
    Convolution(calls, call).run();
  } else if (is_integer(call.left) && is_integer(call.right)) {
    matmul2d<std::int32_t>(calls, call);
  } else {
    matmul2d<float>(calls, call);
  }
}

}  // namespace

std::optional<TensorElement> tensor_element_named(std::string_view name) {
  const auto* found = std::ranges::find(kNames, name, &std::pair<std::string_view, TensorElement>::first);
  if (found == std::end(kNames)) return std::nullopt;
  return found->second;
}

void perform_tensor_operation(const Simdgroup& simdgroup, std::uint32_t mask) {
  const Calls calls(simdgroup, mask);
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    const TensorCall* call = calls.of(lane);
    if (call == nullptr) continue;
    perform_call(calls, *call);
    if (call->threads >= kLanes) return;  // once for all
  }
}

}  // namespace anymps::metal::abi
