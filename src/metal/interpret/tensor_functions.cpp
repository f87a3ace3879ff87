// Metal 4's tensors, which lie where abi/tensor_layout.h says, and operations on them. A product is computed here as it
// is defined, element by element.
#include <array>
#include <optional>
#include <vector>

#include "metal/abi/tensor_layout.h"
#include "metal/abi/tensor_operation.h"
#include "metal/interpret/functions.h"

namespace anymps::metal::interpret {
namespace {

using From = std::span<const Operand>;
using abi::CooperativeLayout;
using abi::CooperativeTensorHeader;
using abi::TensorElement;

bool consume(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

Kind kind_of(TensorElement element) {
  switch (element) {
    case TensorElement::kFloat:
      return Kind::kFloat;
    case TensorElement::kHalf:
      return Kind::kHalf;
    case TensorElement::kBfloat:
      return Kind::kBfloat;
    default:
      return Kind::kInteger;
  }
}

// A number of any type: a double holds all of them.
double value_at(TensorElement element, const std::byte* from) {
  const unsigned bytes = bytes_of(element);
  if (kind_of(element) != Kind::kInteger) return read_real(kind_of(element), from);
  const std::uint64_t bits = read_bits(from, bytes);
  return static_cast<double>(element == TensorElement::kUint8 ? static_cast<std::int64_t>(bits)
                                                              : interpret::sign_extended(bits, bytes * 8));
}
void put_value(TensorElement element, std::byte* to, double value) {
  if (kind_of(element) != Kind::kInteger) return write_real(kind_of(element), to, value);
  write_bits(to, bytes_of(element), static_cast<std::uint64_t>(static_cast<std::int64_t>(value)));
}

// --- Tensors: "air.init_strided_private_tensor.i32.global" and the like.

std::int64_t* numbers_of(std::byte* tensor) {
  return reinterpret_cast<std::int64_t*>(tensor + sizeof(abi::TensorHeader));
}
abi::TensorHeader& header_of(std::byte* tensor) { return *reinterpret_cast<abi::TensorHeader*>(tensor); }

struct IndexType {
  unsigned bytes = 4;
  bool is_signed = true;

  std::int64_t read(const std::byte* from, std::uint64_t i) const {
    const std::uint64_t bits = read_bits(from + i * bytes, bytes);
    return is_signed ? interpret::sign_extended(bits, bytes * 8) : static_cast<std::int64_t>(bits);
  }
};
std::optional<IndexType> index_type(std::string_view suffix) {
  IndexType type{.is_signed = !consume(suffix, "u.")};
  consume(suffix, "s.");
  if (suffix.starts_with("i64")) type.bytes = 8;
  if (!suffix.starts_with("i64") && !suffix.starts_with("i32")) return std::nullopt;
  return type;
}

Step init_tensor(IndexType index, From from) {
  return [=, tensor = from[0], rank = from[1], data = from[2], extents = from[3], strides = from[4],
          type = from[5]](const Lanes& lanes) {
    lanes.each([&](unsigned lane) {
      std::byte* to = lanes.pointer(tensor, lane);
      const std::uint64_t count = lanes.bits(rank, lane);
      header_of(to) = {.data = lanes.pointer(data, lane),
                       .element_bytes = abi::bytes_of_tensor_type(lanes.bits(type, lane))};
      for (std::uint64_t i = 0; i < count; ++i) {
        numbers_of(to)[i] = index.read(lanes.pointer(extents, lane), i);
        numbers_of(to)[count + i] = index.read(lanes.pointer(strides, lane), i);
      }
    });
  };
}

Step slice_tensor(IndexType index, From from) {
  return
      [=, tensor = from[0], whole = from[1], rank = from[2], origin = from[3], extents = from[4]](const Lanes& lanes) {
        lanes.each([&](unsigned lane) {
          std::byte* to = lanes.pointer(tensor, lane);
          std::byte* of = lanes.pointer(whole, lane);
          const std::uint64_t count = lanes.bits(rank, lane);
          header_of(to) = header_of(of);
          for (std::uint64_t i = 0; i < count; ++i) {
            const std::int64_t stride = numbers_of(of)[count + i];
            header_of(to).data += index.read(lanes.pointer(origin, lane), i) * stride * header_of(of).element_bytes;
            numbers_of(to)[i] = index.read(lanes.pointer(extents, lane), i);
            numbers_of(to)[count + i] = stride;
          }
        });
      };
}

Step tensor_of_a_thread(const DeclaredName& name, const Operand& to, From from) {
  if (name.operation == "get_descriptor_size_tensor" && from.size() == 2) {
    return [=, rank = from[0]](const Lanes& lanes) {
      lanes.each([&](unsigned lane) { lanes.set_bits(to, lane, 0, abi::tensor_bytes(lanes.bits(rank, lane))); });
    };
  }
  if (name.operation == "get_extent_private_tensor" && from.size() == 3) {
    return [=, tensor = from[0], dimension = from[2]](const Lanes& lanes) {
      lanes.each([&](unsigned lane) {
        const std::int64_t extent = numbers_of(lanes.pointer(tensor, lane))[lanes.bits(dimension, lane)];
        lanes.set_bits(to, lane, 0, static_cast<std::uint64_t>(extent));
      });
    };
  }
  const auto index = index_type(name.suffix);
  if (!index) return nullptr;
  if (name.operation == "init_strided_private_tensor" && from.size() == 6) return init_tensor(*index, from);
  if (name.operation == "slice_private_tensor_private_tensor" && from.size() == 5) return slice_tensor(*index, from);
  return nullptr;
}

// --- Cooperative tensors. A function that has a Layout knows what the calling lane's arguments say.

using LayoutOf = std::function<CooperativeLayout(const Lanes& lanes, unsigned lane)>;

CooperativeLayout::Coordinate coordinate(const CooperativeLayout& layout, const Lanes& lanes, unsigned lane,
                                         std::uint32_t slot) {
  return layout.at(lanes.simdgroup % layout.simdgroups(), lane, slot);
}
CooperativeTensorHeader& tensor_header(std::byte* tensor) {
  return *reinterpret_cast<CooperativeTensorHeader*>(tensor);
}
bool is_valid(const CooperativeTensorHeader& header, const CooperativeLayout::Coordinate& at) {
  return at.column < static_cast<std::uint32_t>(header.valid_columns) &&
         at.row < static_cast<std::uint32_t>(header.valid_rows);
}

Step number(const Operand& to, std::function<std::uint64_t(const Lanes&, unsigned lane)> value) {
  return
      [=](const Lanes& lanes) { lanes.each([&](unsigned lane) { lanes.set_bits(to, lane, 0, value(lanes, lane)); }); };
}
Step data_size(const Operand& to, const LayoutOf& layout, std::function<std::uint32_t(const Lanes&, unsigned)> code) {
  return number(to, [=](const Lanes& lanes, unsigned lane) {
    return sizeof(CooperativeTensorHeader) +
           std::uint64_t{layout(lanes, lane).capacity()} * abi::bytes_of_code(code(lanes, lane));
  });
}
Step init_cooperative(const LayoutOf& layout, const Operand& tensor) {
  return [=](const Lanes& lanes) {
    lanes.each([&](unsigned lane) {
      const CooperativeLayout shape = layout(lanes, lane);
      CooperativeTensorHeader& header = tensor_header(lanes.pointer(tensor, lane));
      header.valid_columns = static_cast<std::int32_t>(shape.columns);
      header.valid_rows = static_cast<std::int32_t>(shape.rows);
    });
  };
}
Step element_address(const Operand& to, const Operand& tensor, const Operand& index,
                     std::function<std::uint32_t(const Lanes&, unsigned)> code) {
  constexpr std::uint64_t kWhole = 0xffff;
  return number(to, [=](const Lanes& lanes, unsigned lane) {
    const std::uint64_t i = lanes.bits(index, lane);
    const std::uint64_t offset = sizeof(CooperativeTensorHeader) + i * abi::bytes_of_code(code(lanes, lane));
    return lanes.bits(tensor, lane) + (i == kWhole ? 0 : offset);
  });
}

// Parameters that all functions of a product's cooperative tensors begin with.
enum Common : unsigned { kOperand, kM, kN, kK, kTransposeLeft, kTransposeRight, kCommon = 8 };

LayoutOf matrix_layout(From from, const Operand& threads) {
  const std::vector<Operand> given(from.begin(), from.begin() + kCommon);
  return [=](const Lanes& lanes, unsigned lane) {
    const auto value = [&](unsigned i) { return static_cast<std::uint32_t>(lanes.bits(given[i], lane)); };
    const std::uint32_t scope = static_cast<std::uint32_t>(lanes.bits(threads, lane));
    std::uint32_t rows = value(kM);
    std::uint32_t columns = value(kN);
    bool transposed = false;
    if (value(kOperand) == 0) {
      columns = value(kK);
      transposed = value(kTransposeLeft) != 0;
    } else if (value(kOperand) == 1) {
      rows = value(kK);
      transposed = value(kTransposeRight) != 0;
    }
    if (transposed) std::swap(rows, columns);
    return CooperativeLayout{rows, columns, scope, transposed};
  };
}

Step transfer(bool is_load, TensorElement element, const LayoutOf& layout, const Operand& tensor,
              const Operand& memory) {
  const unsigned bytes = bytes_of(element);
  return [=](const Lanes& lanes) {
    lanes.each([&](unsigned lane) {
      const CooperativeLayout shape = layout(lanes, lane);
      std::byte* const outside = lanes.pointer(memory, lane);
      const std::int64_t* numbers = numbers_of(outside);
      for (std::uint32_t slot = 0; slot < shape.capacity(); ++slot) {
        const auto at = coordinate(shape, lanes, lane, slot);
        std::byte* own = lanes.pointer(tensor, lane) + sizeof(CooperativeTensorHeader) + std::size_t{slot} * bytes;
        const bool there =
            at.column < shape.columns && at.row < shape.rows && at.column < numbers[0] && at.row < numbers[1];
        std::byte* other = header_of(outside).data + (at.column * numbers[2] + at.row * numbers[3]) * bytes;
        if (is_load && !there) std::memset(own, 0, bytes);
        if (there) std::memcpy(is_load ? own : other, is_load ? other : own, bytes);
      }
    });
  };
}

Step matmul_tensor(std::string_view name, const Operand& to, From from) {
  const auto code = [from](unsigned first) {
    return [operand = from[kOperand], types = std::vector<Operand>(from.begin() + first, from.begin() + first + 3)](
               const Lanes& lanes, unsigned lane) {
      return static_cast<std::uint32_t>(lanes.bits(types.at(lanes.bits(operand, lane)), lane));
    };
  };
  constexpr unsigned kTensor = kCommon;
  constexpr unsigned kIndex = kTensor + 1;
  if (from.size() < kCommon + 3) return nullptr;
  if (name == "data_size" && from.size() == kCommon + 4)
    return data_size(to, matrix_layout(from, from.back()), code(kCommon));
  if (name == "init" && from.size() == kCommon + 5)
    return init_cooperative(matrix_layout(from, from.back()), from[kTensor]);
  if (name == "num_elements" && from.size() == kCommon + 4) {
    return number(to, [layout = matrix_layout(from, from.back())](const Lanes& lanes, unsigned lane) {
      return layout(lanes, lane).capacity();
    });
  }
  if (name == "get_element_pointer" && from.size() == kCommon + 5)
    return element_address(to, from[kTensor], from[kIndex], code(kIndex + 1));
  if (name == "is_valid_element" && from.size() == kCommon + 6) {
    return number(to, [layout = matrix_layout(from, from.back()), tensor = from[kTensor], index = from[kIndex]](
                          const Lanes& lanes, unsigned lane) {
      const auto at = coordinate(layout(lanes, lane), lanes, lane, static_cast<std::uint32_t>(lanes.bits(index, lane)));
      return std::uint64_t{is_valid(tensor_header(lanes.pointer(tensor, lane)), at)};
    });
  }
  if (name == "get_coordinate" && from.size() == kCommon + 8) {
    return [layout = matrix_layout(from, from[kIndex + 3]), index = from[kIndex],
            result = from[kIndex + 1]](const Lanes& lanes) {
      lanes.each([&](unsigned lane) {
        const auto slot = static_cast<std::uint32_t>(lanes.bits(index, lane));
        const auto at = coordinate(layout(lanes, lane), lanes, lane, slot);
        std::memcpy(lanes.pointer(result, lane), &at, sizeof at);
      });
    };
  }
  const bool is_load = consume(name, "load_");
  if (!is_load && !consume(name, "store_")) return nullptr;
  if (!consume(name, "dv_") && !consume(name, "tg_")) return nullptr;
  const auto element = abi::tensor_element_named(name);
  if (!element || from.size() != kCommon + (is_load ? 8U : 7U)) return nullptr;
  return transfer(is_load, *element, matrix_layout(from, from.back()), from[kTensor], from[kTensor + 1]);
}

// --- Convolutions: a row for each pixel of the destination, a column for each channel.

abi::Convolution2dDescriptor convolution_at(const std::byte* address) {
  abi::Convolution2dDescriptor descriptor;
  std::memcpy(&descriptor, address, sizeof descriptor);
  return descriptor;
}
CooperativeLayout convolution_layout(const abi::Convolution2dDescriptor& d, std::uint64_t threads) {
  return {static_cast<std::uint32_t>(d.destination[1] * d.destination[2] * d.destination[3]),
          static_cast<std::uint32_t>(d.destination[0]), static_cast<std::uint32_t>(threads)};
}
LayoutOf pixel_layout(const Operand& descriptor, const Operand& threads) {
  return [=](const Lanes& lanes, unsigned lane) {
    return convolution_layout(convolution_at(lanes.pointer(descriptor, lane)), lanes.bits(threads, lane));
  };
}

Step convolution_tensor(std::string_view name, const Operand& to, From from) {
  const auto code = [](const Operand& type) {
    return [=](const Lanes& lanes, unsigned lane) { return static_cast<std::uint32_t>(lanes.bits(type, lane)); };
  };
  if (name == "data_size" && from.size() == 5) return data_size(to, pixel_layout(from[0], from[4]), code(from[1]));
  if (name == "tensor_init" && from.size() == 6) return init_cooperative(pixel_layout(from[1], from[5]), from[0]);
  if (name == "tensor_num_elements" && from.size() == 6) {
    return number(to, [layout = pixel_layout(from[0], from[5])](const Lanes& lanes, unsigned lane) {
      return layout(lanes, lane).capacity();
    });
  }
  if (name == "tensor_elements" && from.size() == 4) return element_address(to, from[0], from[1], code(from[2]));
  if (name == "tensor_destory") return [](const Lanes&) {};
  if (name == "tensor_get_coordinate" && from.size() == 10) {
    return [layout = pixel_layout(from[0], from[9]), descriptor = from[0], index = from[2],
            result = from[4]](const Lanes& lanes) {
      lanes.each([&](unsigned lane) {
        const auto d = convolution_at(lanes.pointer(descriptor, lane));
        const auto slot = static_cast<std::uint32_t>(lanes.bits(index, lane));
        const auto at = coordinate(layout(lanes, lane), lanes, lane, slot);
        const auto width = static_cast<std::uint32_t>(d.destination[1]);
        const auto height = static_cast<std::uint32_t>(d.destination[2]);
        const std::array<std::uint32_t, 4> place{at.column, at.row % width, at.row / width % height,
                                                 at.row / width / height};
        std::memcpy(lanes.pointer(result, lane), place.data(), sizeof place);
      });
    };
  }
  return nullptr;
}

// --- Operations.

struct OperandType {
  bool in_memory = false;
  TensorElement element = TensorElement::kFloat;
  Operand given;
};

// A matrix that lanes hold or that lies in memory, by its place as it is stored. Beyond its end it is zero.
class Matrix {
 public:
  // As `lane` is given it; of one that lanes hold, what they hold now.
  Matrix(const Lanes& lanes, unsigned lane, const OperandType& type, const CooperativeLayout& layout)
      : type_(type), tensor_(lanes.pointer(type.given, lane)), layout_(layout) {
    if (type.in_memory) return;
    held_.resize(std::size_t{layout.rows} * layout.columns);
    lanes.each([&](unsigned holder) {
      const std::byte* elements = lanes.pointer(type.given, holder) + sizeof(CooperativeTensorHeader);
      for (std::uint32_t slot = 0; slot < layout.capacity(); ++slot) {
        const auto at = layout.at(0, holder, slot);
        if (at.row >= layout.rows || at.column >= layout.columns) continue;
        held_[std::size_t{at.row} * layout.columns + at.column] =
            value_at(type.element, elements + std::size_t{slot} * bytes_of(type.element));
      }
    });
  }

  bool in_memory() const { return type_.in_memory; }
  std::int64_t columns() const { return in_memory() ? numbers_of(tensor_)[0] : layout_.columns; }
  std::int64_t rows() const { return in_memory() ? numbers_of(tensor_)[1] : layout_.rows; }
  double at(std::int64_t row, std::int64_t column) const {
    if (row >= rows() || column >= columns()) return 0;
    if (in_memory()) return value_at(type_.element, memory(row, column));
    return held_[static_cast<std::size_t>(row * columns() + column)];
  }
  std::byte* memory(std::int64_t row, std::int64_t column) const {
    const std::int64_t index = column * numbers_of(tensor_)[2] + row * numbers_of(tensor_)[3];
    return header_of(tensor_).data + index * bytes_of(type_.element);
  }

 private:
  const OperandType& type_;
  std::byte* const tensor_;
  const CooperativeLayout layout_;
  std::vector<double> held_;
};

// What lanes leave is written when all of them have read.
struct Write {
  std::byte* to;
  double value;
};

// sum_of(lane, row, column, start) for every element of the destination that the simdgroup, or the lane, holds.
template <typename SumOf>
void fill_destination(const Lanes& lanes, const OperandType& destination, const CooperativeLayout& layout,
                      bool accumulates, SumOf sum_of) {
  std::vector<Write> writes;
  lanes.each([&](unsigned lane) {
    std::byte* const tensor = lanes.pointer(destination.given, lane);
    for (std::uint32_t slot = 0; slot < layout.capacity(); ++slot) {
      const auto at = coordinate(layout, lanes, lane, slot);
      if (at.row >= layout.rows || at.column >= layout.columns) continue;
      std::byte* to = tensor + sizeof(CooperativeTensorHeader) + std::size_t{slot} * bytes_of(destination.element);
      if (destination.in_memory) {
        const std::int64_t* numbers = numbers_of(tensor);
        if (at.column >= numbers[0] || at.row >= numbers[1]) continue;
        to = header_of(tensor).data + (at.column * numbers[2] + at.row * numbers[3]) * bytes_of(destination.element);
      }
      const double start = accumulates ? value_at(destination.element, to) : 0;
      writes.push_back({to, sum_of(lane, std::int64_t{at.row}, std::int64_t{at.column}, start)});
    }
  });
  for (const Write& write : writes) put_value(destination.element, write.to, write.value);
}
// What is added to is as valid as it was, at least.
void set_valid(const Lanes& lanes, const OperandType& destination, const CooperativeLayout& layout,
               std::int64_t columns, std::int64_t rows, bool accumulates) {
  if (destination.in_memory) return;
  const auto within = [](std::int64_t extent, std::int64_t most) {
    return static_cast<std::int32_t>(std::min(std::max<std::int64_t>(extent, 0), most));
  };
  lanes.each([&](unsigned lane) {
    CooperativeTensorHeader& header = tensor_header(lanes.pointer(destination.given, lane));
    if (!accumulates) header.valid_columns = header.valid_rows = 0;
    header.valid_columns = std::max(header.valid_columns, within(columns, layout.columns));
    header.valid_rows = std::max(header.valid_rows, within(rows, layout.rows));
  });
}

bool is_integer(TensorElement element) { return element == TensorElement::kInt8 || element == TensorElement::kUint8; }

void multiply(const Lanes& lanes, const Operand& descriptor, const std::array<OperandType, 3>& operands,
              const Operand& threads) {
  const auto first = static_cast<unsigned>(std::countr_zero(lanes.active));
  abi::Matmul2dDescriptor d;
  std::memcpy(&d, lanes.pointer(descriptor, first), sizeof d);
  const auto scope = static_cast<std::uint32_t>(lanes.bits(threads, first));
  const auto stored = [&](std::int32_t rows, std::int32_t columns, bool transposed) {
    if (transposed) std::swap(rows, columns);
    return CooperativeLayout{static_cast<std::uint32_t>(rows), static_cast<std::uint32_t>(columns), scope, transposed};
  };
  const CooperativeLayout left_layout = stored(d.m, d.k, d.transpose_left);
  const CooperativeLayout right_layout = stored(d.k, d.n, d.transpose_right);
  const CooperativeLayout layout = stored(d.m, d.n, false);
  const bool whole = is_integer(operands[0].element) && is_integer(operands[1].element);
  const Matrix left(lanes, first, operands[0], left_layout);
  const Matrix right(lanes, first, operands[1], right_layout);
  std::int64_t inner = d.k;
  if (inner < 0 && left.in_memory()) inner = d.transpose_left ? left.rows() : left.columns();
  if (inner < 0) inner = d.transpose_right ? right.columns() : right.rows();
  fill_destination(lanes, operands[2], layout, d.mode == abi::kMultiplyAccumulate,
                   [&](unsigned, std::int64_t row, std::int64_t column, double sum) {
                     for (std::int64_t k = 0; k < inner; ++k) {
                       const double a = d.transpose_left ? left.at(k, row) : left.at(row, k);
                       const double b = d.transpose_right ? right.at(column, k) : right.at(k, column);
                       // Sums of bytes are exact in a double, and wrap when they are written.
                       sum = whole ? sum + a * b : fused_multiply_add(Kind::kFloat, a, b, sum);
                     }
                     return sum;
                   });
  set_valid(lanes, operands[2], layout, d.transpose_right ? right.rows() : right.columns(),
            d.transpose_left ? left.columns() : left.rows(), d.mode == abi::kMultiplyAccumulate);
}

// A tensor of four dimensions in memory, of which what lies outside is zero.
double element_of_four(std::byte* tensor, TensorElement element, const std::array<std::int64_t, 4>& at) {
  std::int64_t index = 0;
  for (unsigned i = 0; i < at.size(); ++i) {
    if (at[i] < 0 || at[i] >= numbers_of(tensor)[i]) return 0;
    index += at[i] * numbers_of(tensor)[at.size() + i];
  }
  return value_at(element, header_of(tensor).data + index * bytes_of(element));
}

void convolve(const Lanes& lanes, const Operand& descriptor, const std::array<OperandType, 3>& operands,
              const Operand& threads, const Operand& offsets) {
  const auto first = static_cast<unsigned>(std::countr_zero(lanes.active));
  const auto d = convolution_at(lanes.pointer(descriptor, first));
  const CooperativeLayout layout = convolution_layout(d, lanes.bits(threads, first));
  fill_destination(
      lanes, operands[2], layout, d.mode == abi::kMultiplyAccumulate,
      [&](unsigned lane, std::int64_t pixel, std::int64_t output, double sum) {
        std::byte* activations = lanes.pointer(operands[0].given, lane);
        std::byte* weights = lanes.pointer(operands[1].given, lane);
        std::array<std::int32_t, 2> offset;
        std::memcpy(offset.data(), lanes.pointer(offsets, lane), sizeof offset);
        const std::int64_t line = pixel / d.destination[1];
        const std::array<std::int64_t, 2> at{pixel % d.destination[1], line % d.destination[2]};
        // Windows are placed by their middle.
        const auto source = [&](unsigned axis, std::int32_t tap) {
          const std::int64_t reach = std::int64_t{d.kernel[axis] - 1} * d.dilations[axis];
          return offset[axis] + at[axis] * d.strides[axis] + std::int64_t{tap} * d.dilations[axis] - (reach + 1) / 2;
        };
        std::int64_t channels = std::min(numbers_of(activations)[0], numbers_of(weights)[1]);
        if (d.source[0] >= 0) channels = std::min<std::int64_t>(channels, d.source[0]);
        for (std::int32_t y = 0; y < d.kernel[1]; ++y) {
          for (std::int32_t x = 0; x < d.kernel[0]; ++x) {
            for (std::int64_t channel = 0; channel < channels; ++channel) {
              const double a = element_of_four(activations, operands[0].element,
                                               {channel, source(0, x), source(1, y), line / d.destination[2]});
              const double w = element_of_four(weights, operands[1].element, {output, channel, x, y});
              sum = fused_multiply_add(Kind::kFloat, a, w, sum);
            }
          }
        }
        return sum;
      });
  set_valid(lanes, operands[2], layout, numbers_of(lanes.pointer(operands[1].given, first))[0], layout.rows,
            d.mode == abi::kMultiplyAccumulate);
}

// "cooperative_dv_f16_dv_f16_f32", after the descriptor.
Step operation(std::string_view name, bool convolution, From from) {
  consume(name, "cooperative_");
  std::array<OperandType, 3> operands;
  std::size_t next = 1;
  for (OperandType& operand : operands) {
    operand.in_memory = consume(name, "dv_") || consume(name, "tg_");
    const std::string_view type = name.substr(0, name.find('_'));
    name.remove_prefix(std::min(type.size() + 1, name.size()));
    const auto element = abi::tensor_element_named(type);
    if (!element || next >= from.size()) return nullptr;
    operand.element = *element;
    operand.given = from[next];
    next += operand.in_memory ? 2 : 1;
  }
  if (from.size() != next + (convolution ? 2 : 1)) return nullptr;
  const std::vector<Operand> given(from.begin(), from.end());
  return [=](const Lanes& lanes) {
    // A scope of one thread: each lane for itself.
    const auto first = static_cast<unsigned>(std::countr_zero(lanes.active));
    const bool alone = lanes.bits(given[next], first) < kLanes;
    const auto run = [&](const Lanes& together) {
      if (convolution) {
        convolve(together, given[0], operands, given[next], given[next + 1]);
      } else {
        multiply(together, given[0], operands, given[next]);
      }
    };
    if (!alone) return run(lanes);
    lanes.each([&](unsigned lane) {
      Lanes one = lanes;
      one.active = bit_of(lane);
      run(one);
    });
  };
}

}  // namespace

Step tensor_step(std::string_view name, const Operand& to, From from) {
  if (!consume(name, "__tensorops_impl_")) return tensor_of_a_thread(DeclaredName(name), to, from);
  if (consume(name, "matmul2d_op_run_")) return operation(name, false, from);
  if (consume(name, "convolution2d_op_run_")) return operation(name, true, from);
  if (consume(name, "matmul2d_op_cooperative_tensor_")) return matmul_tensor(name, to, from);
  if (consume(name, "conv2d_cooperative_destination_")) return convolution_tensor(name, to, from);
  return nullptr;
}

}  // namespace anymps::metal::interpret
