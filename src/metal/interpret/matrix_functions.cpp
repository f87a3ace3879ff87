// 8x8 matrices, of which every lane holds two neighbouring elements of a row: the first two of the 64 that AIR's type
// has. Metal wants all lanes of a simdgroup to be there; what absent ones would hold counts as zero.
#include <array>

#include "metal/interpret/functions.h"

namespace anymps::metal::interpret {
namespace {

using From = std::span<const Operand>;

constexpr unsigned kSide = 8;
constexpr unsigned kOwned = 2;

constexpr unsigned row_of(unsigned lane) { return (lane >> 2 & 4) + (lane >> 1 & 3); }
constexpr unsigned column_of(unsigned lane) { return (lane >> 2 & 2) * 2 + (lane & 1) * 2; }

using Matrix = std::array<std::array<double, kSide>, kSide>;

Matrix assemble(const Lanes& lanes, const Operand& x) {
  Matrix matrix{};
  lanes.each([&](unsigned lane) {
    for (unsigned i = 0; i < kOwned; ++i) matrix[row_of(lane)][column_of(lane) + i] = lanes.real(x, lane, i);
  });
  return matrix;
}

// value(lane, row, column) for the elements that active lanes hold.
template <typename Value>
void fill(const Lanes& lanes, const Operand& to, Value value) {
  lanes.each([&](unsigned lane) {
    std::memset(lanes.write(to, lane), 0, to.shape.bytes());
    for (unsigned i = 0; i < kOwned; ++i) {
      lanes.set_real(to, lane, i, value(lane, row_of(lane), column_of(lane) + i));
    }
  });
}

// Where an element of a matrix lies in memory. AIR has two forms: elements per row, origin and whether to transpose;
// or size, strides and origin, each as (across a row, down the rows).
class Layout {
 public:
  explicit Layout(From operands) : pointer_(operands[0]) {
    strided_ = operands[1].shape.count == 2;
    stride_ = strided_ ? operands[2] : operands[1];
    origin_ = strided_ ? operands[3] : operands[2];
    transposed_ = operands[3];
  }

  std::byte* at(const Lanes& lanes, unsigned lane, unsigned row, unsigned column, unsigned bytes) const {
    std::uint64_t across = 1;
    std::uint64_t down = lanes.bits(stride_, lane);
    if (strided_) {
      across = lanes.bits(stride_, lane, 0);
      down = lanes.bits(stride_, lane, 1);
    } else if (lanes.bits(transposed_, lane) != 0) {
      std::swap(row, column);
    }
    const std::uint64_t index = (lanes.bits(origin_, lane, 0) + column) * across +  //
                                (lanes.bits(origin_, lane, 1) + row) * down;
    return lanes.pointer(pointer_, lane) + index * bytes;
  }

 private:
  Operand pointer_;
  Operand stride_;
  Operand origin_;
  Operand transposed_;
  bool strided_;
};

Step load_matrix(const Operand& to, From from) {
  return [=, layout = Layout(from)](const Lanes& lanes) {
    fill(lanes, to, [&](unsigned lane, unsigned row, unsigned column) {
      return read_real(to.shape.kind, layout.at(lanes, lane, row, column, to.shape.element_bytes));
    });
  };
}

Step store_matrix(From from) {
  return [x = from[0], layout = Layout(from.subspan(1))](const Lanes& lanes) {
    lanes.each([&](unsigned lane) {
      for (unsigned i = 0; i < kOwned; ++i) {
        std::byte* to = layout.at(lanes, lane, row_of(lane), column_of(lane) + i, x.shape.element_bytes);
        write_bits(to, x.shape.element_bytes, lanes.bits(x, lane, i));
      }
    });
  };
}

// Metal does not say in which order, nor when halves are rounded: here along the row, and at the end.
Step product(const Operand& to, From from) {
  return [=, left = from[0], right = from[1], added = from[2]](const Lanes& lanes) {
    const Matrix a = assemble(lanes, left);
    const Matrix b = assemble(lanes, right);
    const Matrix c = assemble(lanes, added);
    fill(lanes, to, [&](unsigned, unsigned row, unsigned column) {
      double sum = c[row][column];
      for (unsigned k = 0; k < kSide; ++k) sum = fused_multiply_add(Kind::kFloat, a[row][k], b[k][column], sum);
      return sum;
    });
  };
}

}  // namespace

Step matrix_step(const DeclaredName& name, const Operand& to, From from) {
  constexpr std::string_view kPrefix = "simdgroup_matrix_8x8_";
  if (!name.operation.starts_with(kPrefix)) return nullptr;
  const std::string_view operation = name.operation.substr(kPrefix.size());
  if (operation == "load") return load_matrix(to, from);
  if (operation == "store") return store_matrix(from);
  if (operation == "multiply_accumulate") return product(to, from);
  if (operation == "init_filled" || operation == "init_diag") {
    const bool everywhere = operation == "init_filled";
    return [=, x = from[0]](const Lanes& lanes) {
      fill(lanes, to, [&](unsigned lane, unsigned row, unsigned column) {
        return everywhere || row == column ? lanes.real(x, lane) : 0;
      });
    };
  }
  return nullptr;
}

}  // namespace anymps::metal::interpret
