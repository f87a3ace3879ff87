// Metal 4's tensors and the operations on them, from source, on both engines, against plain products.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "air_text.h"
#include "gpu/support/float16.h"
#include "metal/abi/tensor_layout.h"
#include "metal/engine/make_pipeline.h"
#include "metal/frontend/program.h"
#include "metal/interpret/interpreter.h"
#include "metal/pipeline/pipeline.h"
#include "source_runner.h"

namespace anymps::metal {
namespace {

using testing::AirText;
using testing::OwnedFunction;
using testing::refusal_of;

const std::string kHeaders = R"(
#include <metal_stdlib>
#include <MetalPerformancePrimitives/MetalPerformancePrimitives.h>
using namespace metal;
using namespace mpp::tensor_ops;
typedef dextents<int, 2> Extents;
)";

// Numbers as a type of Metal's holds them.
struct Type {
  std::string metal;
  std::size_t bytes;
  std::function<void(double, std::byte*)> put;
  std::function<double(const std::byte*)> get;
};
template <typename T>
Type plain(const std::string& name) {
  return {name, sizeof(T),
          [](double value, std::byte* to) {
            const T narrow = static_cast<T>(value);
            std::memcpy(to, &narrow, sizeof narrow);
          },
          [](const std::byte* from) {
            T value;
            std::memcpy(&value, from, sizeof value);
            return static_cast<double>(value);
          }};
}
Type half() {
  Type type = plain<std::uint16_t>("half");
  type.put = [](double value, std::byte* to) {
    const gpu::support::float16 narrow = static_cast<gpu::support::float16>(static_cast<float>(value));
    std::memcpy(to, &narrow, sizeof narrow);
  };
  type.get = [](const std::byte* from) {
    gpu::support::float16 value;
    std::memcpy(&value, from, sizeof value);
    return static_cast<double>(static_cast<float>(value));
  };
  return type;
}
Type bfloat() {
  Type type = plain<std::uint16_t>("bfloat");
  type.put = [](double value, std::byte* to) {
    const auto bits = static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(static_cast<float>(value)) >> 16);
    std::memcpy(to, &bits, sizeof bits);
  };
  type.get = [](const std::byte* from) {
    std::uint16_t bits;
    std::memcpy(&bits, from, sizeof bits);
    return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16));
  };
  return type;
}

// A matrix of whole numbers, small enough for each type to hold them and their products' sums exactly.
struct Matrix {
  std::size_t rows;
  std::size_t columns;
  std::vector<double> values;

  static Matrix random(std::size_t rows, std::size_t columns, unsigned seed) {
    std::mt19937 random(seed);
    std::uniform_int_distribution<int> numbers(-3, 3);
    Matrix matrix{rows, columns, std::vector<double>(rows * columns)};
    for (double& value : matrix.values) value = numbers(random);
    return matrix;
  }
  double at(std::size_t row, std::size_t column) const { return values[row * columns + column]; }
  Matrix transposed() const {
    Matrix other{columns, rows, std::vector<double>(values.size())};
    for (std::size_t r = 0; r < rows; ++r) {
      for (std::size_t c = 0; c < columns; ++c) other.values[c * rows + r] = at(r, c);
    }
    return other;
  }
  std::vector<std::byte> bytes(const Type& type) const {
    std::vector<std::byte> bytes(values.size() * type.bytes);
    for (std::size_t i = 0; i < values.size(); ++i) type.put(values[i], bytes.data() + i * type.bytes);
    return bytes;
  }
};
Matrix product(const Matrix& a, const Matrix& b) {
  Matrix c{a.rows, b.columns, std::vector<double>(a.rows * b.columns)};
  for (std::size_t r = 0; r < c.rows; ++r) {
    for (std::size_t k = 0; k < a.columns; ++k) {
      for (std::size_t n = 0; n < c.columns; ++n) c.values[r * c.columns + n] += a.at(r, k) * b.at(k, n);
    }
  }
  return c;
}

using Buffers = std::vector<std::vector<std::byte>>;

// What both engines leave in the last buffer; a failure where they differ.
std::vector<std::byte> launch(const std::string& source, const Buffers& buffers, pipeline::Size groups,
                              std::uint32_t threads, const std::string& kernel = "k") {
  const frontend::Program program(source, {});
  const std::vector<std::byte> air = program.air_of(kernel);
  library::FunctionEntry function;
  function.name = kernel;
  function.bitcode = air;
  const auto left_by = [&](pipeline::Pipeline& pipeline) {
    Buffers copies = buffers;
    pipeline::Launch launch;
    for (std::size_t i = 0; i < copies.size(); ++i) launch.buffers[i] = copies[i].data();
    pipeline.launch(launch, {groups[0] * threads, groups[1], groups[2]}, {threads, 1, 1});
    return copies.back();
  };
  std::vector<std::byte> compiled = left_by(*engine::make_pipeline(function, {}));
  EXPECT_EQ(left_by(*interpret::make_interpreter(function, {})), compiled);
  return compiled;
}
void expect_values(const std::vector<std::byte>& bytes, const Type& type, const Matrix& wanted) {
  ASSERT_EQ(bytes.size(), wanted.values.size() * type.bytes);
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < wanted.values.size(); ++i) {
    const double got = type.get(bytes.data() + i * type.bytes);
    if (got == wanted.values[i] || ++wrong > 3) continue;
    ADD_FAILURE() << "row " << i / wanted.columns << ", column " << i % wanted.columns << ": " << got << " instead of "
                  << wanted.values[i];
  }
}

template <typename T>
std::vector<std::byte> bytes_of(const std::vector<T>& values) {
  const auto* begin = reinterpret_cast<const std::byte*>(values.data());
  return {begin, begin + values.size() * sizeof(T)};
}

// --- Products of tensors in device memory.

struct Product {
  std::string name;
  Type left, right, destination;
  std::size_t m, n, k;
  bool transpose_left = false;
  bool transpose_right = false;
  unsigned simdgroups = 4;
  bool into_memory = false;  // without a cooperative tensor between
  bool to_static_extents = false;
};
constexpr std::size_t kTileM = 32;
constexpr std::size_t kTileN = 48;

std::string source_of(const Product& p) {
  const auto truth = [](bool value) { return value ? "true" : "false"; };
  const auto number = [](std::size_t value) { return std::to_string(value); };
  // Extents are told with those that lie side by side first.
  const auto extents = [&](std::size_t rows, std::size_t columns, bool transposed) {
    return transposed ? number(rows) + ", " + number(columns) : number(columns) + ", " + number(rows);
  };
  std::string text = kHeaders;
  text += "kernel void k(device " + p.left.metal + "* a, device " + p.right.metal + "* b, device " +
          p.destination.metal + "* c, uint2 g [[threadgroup_position_in_grid]]) {\n";
  text += "constexpr auto d = matmul2d_descriptor(" + number(kTileM) + ", " + number(kTileN) +
          ", static_cast<int>(dynamic_extent), " + truth(p.transpose_left) + ", " + truth(p.transpose_right) + ");\n";
  text += "matmul2d<d, execution_simdgroups<" + number(p.simdgroups) + ">> op;\n";
  text += "const int row = g.y * " + number(kTileM) + ", column = g.x * " + number(kTileN) + ";\n";
  text += "auto ta = tensor(a, Extents(" + extents(p.m, p.k, p.transpose_left) + "));\n";
  text += "auto tb = tensor(b, Extents(" + extents(p.k, p.n, p.transpose_right) + "));\n";
  text += "tensor<device " + p.destination.metal + ", Extents, tensor_inline> tc(c, Extents(" +
          extents(p.m, p.n, false) + "), array<int, 2>{1, " + number(p.n) + "});\n";
  text += p.transpose_left ? "auto sa = ta.slice(row, 0);\n" : "auto sa = ta.slice(0, row);\n";
  text += p.transpose_right ? "auto sb = tb.slice(0, column);\n" : "auto sb = tb.slice(column, 0);\n";
  text += p.to_static_extents ? "auto sc = tc.slice<" + number(kTileN) + ", " + number(kTileM) + ">(column, row);\n"
                              : "auto sc = tc.slice(column, row);\n";
  if (p.into_memory) return text + "op.run(sa, sb, sc);\n}\n";
  return text + "auto ct = op.get_destination_cooperative_tensor<decltype(sa), decltype(sb), " + p.destination.metal +
         ">();\nop.run(sa, sb, ct);\nct.store(sc);\n}\n";
}

class Products : public ::testing::TestWithParam<Product> {};

TEST_P(Products, GiveWhatAPlainProductGives) {
  const Product& p = GetParam();
  const Matrix a = Matrix::random(p.m, p.k, 1);
  const Matrix b = Matrix::random(p.k, p.n, 2);
  const Buffers buffers{(p.transpose_left ? a.transposed() : a).bytes(p.left),
                        (p.transpose_right ? b.transposed() : b).bytes(p.right),
                        std::vector<std::byte>(p.m * p.n * p.destination.bytes)};
  const auto groups = [](std::size_t extent, std::size_t tile) {
    return static_cast<std::uint32_t>((extent + tile - 1) / tile);
  };
  const auto left = launch(source_of(p), buffers, {groups(p.n, kTileN), groups(p.m, kTileM), 1}, 32 * p.simdgroups);
  expect_values(left, p.destination, product(a, b));
}

const Type kFloat = plain<float>("float");
INSTANTIATE_TEST_SUITE_P(
    TensorOperations, Products,
    ::testing::Values(Product{"whole_tiles", kFloat, kFloat, kFloat, 64, 96, 40},
                      Product{"tiles_at_the_edge", kFloat, kFloat, kFloat, 50, 70, 33},
                      Product{"static_extents", kFloat, kFloat, kFloat, 64, 96, 40, false, false, 4, false, true},
                      Product{"transposed_left", kFloat, kFloat, kFloat, 50, 70, 33, true, false},
                      Product{"transposed_right", kFloat, kFloat, kFloat, 50, 70, 33, false, true},
                      Product{"both_transposed", kFloat, kFloat, kFloat, 50, 70, 33, true, true},
                      Product{"one_simdgroup", kFloat, kFloat, kFloat, 50, 70, 33, false, false, 1},
                      Product{"simdgroups_that_share_unevenly", kFloat, kFloat, kFloat, 50, 70, 33, false, false, 5},
                      Product{"halves", half(), half(), kFloat, 50, 70, 33},
                      Product{"halves_to_halves", half(), half(), half(), 50, 70, 33, false, true},
                      Product{"bfloats", bfloat(), bfloat(), bfloat(), 50, 70, 20},
                      Product{"float_and_bfloat", kFloat, bfloat(), kFloat, 50, 70, 33},
                      Product{"bytes", plain<std::int8_t>("char"), plain<std::int8_t>("char"),
                              plain<std::int32_t>("int"), 50, 70, 33},
                      Product{"into_memory", kFloat, kFloat, kFloat, 50, 70, 33, false, true, 4, true},
                      Product{"halves_into_memory", half(), half(), half(), 50, 70, 33, true, false, 2, true}),
    [](const auto& info) { return info.param.name; });

// --- Elements that kernels place by themselves, as MLX's NAX kernels and PyTorch's attention do.

// Each lane puts elements of a 16 by 16 matrix where it believes them to be, by PyTorch's MppAttention.h: of two rows
// four neighbours each on M5, and two pairs that lie eight columns apart on Macs before.
const std::string kFragments = R"(
struct Fragment {
  float e[8];
  static int row(ushort lane, short i) { return (lane >> 2 & 4) + (lane >> 1 & 3) + i / 4 * 8; }
  static int column(ushort lane, short i) {
    if (kQuads) return ((lane >> 2 & 2) | (lane & 1)) * 4 + i % 4;
    return (lane >> 3 & 1) * 4 + (lane & 1) * 2 + (i & 1) + (i >> 1 & 1) * 8;
  }
  void load(device const float* from, int2 strides, ushort lane) {
    for (short i = 0; i < 8; ++i) e[i] = from[row(lane, i) * strides.y + column(lane, i) * strides.x];
  }
  void store(device float* to, int2 strides, ushort lane) {
    for (short i = 0; i < 8; ++i) to[row(lane, i) * strides.y + column(lane, i) * strides.x] = e[i];
  }
  // Of an operand that has two of them, side by side or one below the other.
  static int slot(short part, short i, bool side_by_side) {
    return kQuads || !side_by_side ? part * 8 + i : i / 4 * 8 + part * 4 + i % 4;
  }
};
)";

struct Fragments {
  std::string name;
  bool transpose_left, transpose_right, tall;
};
class FragmentProducts : public ::testing::TestWithParam<Fragments> {};

TEST_P(FragmentProducts, HaveTheLayoutThatKernelsCountOn) {
  const Fragments& p = GetParam();
  // Tall: 32 by 16, whose left operand has two fragments; wide: 16 by 32, with two in the right one.
  const std::size_t m = p.tall ? 32 : 16;
  const std::size_t n = p.tall ? 16 : 32;
  const Matrix a = Matrix::random(m, 16, 3);
  const Matrix b = Matrix::random(16, n, 4);
  const Matrix start = Matrix::random(m, n, 5);
  const std::string truths =
      std::string(p.transpose_left ? "true" : "false") + (p.transpose_right ? ", true" : ", false");
  // Where the second fragment of what is stored begins.
  const auto second = [&](bool has_two, std::size_t stride, bool below) {
    return has_two ? (below ? std::to_string(16 * stride) : "16") : std::string("-1");
  };
  const std::size_t a_stride = p.transpose_left ? m : 16;
  const std::size_t b_stride = p.transpose_right ? 16 : n;
  // On M5 lanes share out what is stored; before, the operand.
  const bool quads = abi::fragment_order() == abi::FragmentOrder::kQuads;
  const auto strides = [&](const std::string& name, std::size_t stride, bool transposed) {
    const std::string text = std::to_string(stride);
    return "const int2 " + name + (transposed && !quads ? "(" + text + ", 1);\n" : "(1, " + text + ");\n");
  };
  const auto truth = [](bool value) { return value ? "true" : "false"; };
  const std::string source = kHeaders + "constant bool kQuads = " + truth(quads) + ";\n" + kFragments +
                             "constant int kSecond[] = {" + second(p.tall, a_stride, !p.transpose_left) + ", " +
                             second(!p.tall, b_stride, p.transpose_right) + ", " + second(true, n, p.tall) + "};\n" +
                             "kernel void k(device float* a, device float* b, device float* c) {\n"
                             "const ushort lane = __metal_get_thread_index_in_simdgroup(ushort());\n"
                             "constexpr auto d = matmul2d_descriptor(" +
                             std::to_string(m) + ", " + std::to_string(n) + ", 16, " + truths +
                             ", true, matmul2d_descriptor::mode::multiply_accumulate);\n" + R"(
  matmul2d<d, execution_simdgroup> op;
  auto ca = op.get_left_input_cooperative_tensor<float, float, float>();
  auto cb = op.get_right_input_cooperative_tensor<float, float, float>();
  auto cc = op.get_destination_cooperative_tensor<decltype(ca), decltype(cb), float>();
)" + strides("a_strides", a_stride, p.transpose_left) +
                             strides("b_strides", b_stride, p.transpose_right) + strides("c_strides", n, false) +
                             "const bool wide = " + truth(!p.tall) + ";\n" + R"(
  Fragment f;
  for (short part = 0; part < 2; ++part) {
    if (part == 0 || kSecond[0] >= 0) {
      f.load(a + (part ? kSecond[0] : 0), a_strides, lane);
      for (short i = 0; i < 8; ++i) ca[part * 8 + i] = f.e[i];
    }
    if (part == 0 || kSecond[1] >= 0) {
      f.load(b + (part ? kSecond[1] : 0), b_strides, lane);
      for (short i = 0; i < 8; ++i) cb[Fragment::slot(part, i, wide)] = f.e[i];
    }
    f.load(c + (part ? kSecond[2] : 0), c_strides, lane);
    for (short i = 0; i < 8; ++i) cc[Fragment::slot(part, i, wide)] = f.e[i];
  }
  op.run(ca, cb, cc);
  for (short part = 0; part < 2; ++part) {
    for (short i = 0; i < 8; ++i) f.e[i] = cc[Fragment::slot(part, i, wide)];
    f.store(c + (part ? kSecond[2] : 0), c_strides, lane);
  }
}
)";
  const Buffers buffers{(p.transpose_left ? a.transposed() : a).bytes(kFloat),
                        (p.transpose_right ? b.transposed() : b).bytes(kFloat), start.bytes(kFloat)};
  Matrix wanted = product(a, b);
  for (std::size_t i = 0; i < wanted.values.size(); ++i) wanted.values[i] += start.values[i];
  expect_values(launch(source, buffers, {1, 1, 1}, 32), kFloat, wanted);
}
INSTANTIATE_TEST_SUITE_P(TensorOperations, FragmentProducts,
                         ::testing::Values(Fragments{"wide", false, false, false},
                                           Fragments{"wide_transposed_right", false, true, false},
                                           Fragments{"wide_transposed_left", true, false, false},
                                           Fragments{"tall", false, false, true},
                                           Fragments{"tall_transposed_left", true, false, true}),
                         [](const auto& info) { return info.param.name; });

TEST(TensorOperations, LoadsAndCoordinatesAgree) {
  // What lanes load of the left operand, they put back at the coordinates that they are told.
  const std::string source = kHeaders + R"(
kernel void k(device float* a, device float* c) {
  constexpr auto d = matmul2d_descriptor(32, 16, 48, true);
  matmul2d<d, execution_simdgroup> op;
  auto ct = op.get_left_input_cooperative_tensor<float, float, float>();
  ct.load(tensor(a, Extents(30, 40)));
  for (auto it = ct.begin(); it != ct.end(); ++it) {
    auto at = it.get_multidimensional_index();
    c[at[1] * 32 + at[0]] = *it + 1;
  }
}
)";
  const Matrix stored = Matrix::random(40, 30, 6);  // of 48 by 32; beyond it is zero
  Matrix wanted{48, 32, std::vector<double>(48 * 32, 1)};
  for (std::size_t r = 0; r < 40; ++r) {
    for (std::size_t c = 0; c < 30; ++c) wanted.values[r * 32 + c] = stored.at(r, c) + 1;
  }
  expect_values(launch(source, {stored.bytes(kFloat), std::vector<std::byte>(48 * 32 * 4)}, {1, 1, 1}, 32), kFloat,
                wanted);
}

// A product that ends before the matrix leaves elements that mean nothing, unless it is added to one that had them.
TEST(TensorOperations, ElementsThatMeanSomething) {
  for (const std::string mode : {"multiply", "multiply_accumulate"}) {
    const std::string source = kHeaders + R"(
kernel void k(device float* a, device float* b, device int* c) {
  constexpr auto d = matmul2d_descriptor(16, 16, static_cast<int>(dynamic_extent), false, false, false,
                                         matmul2d_descriptor::mode::)" +
                               mode + R"();
  matmul2d<d, execution_simdgroup> op;
  auto ta = tensor(a, Extents(4, 16));
  auto wide = tensor(b, Extents(16, 4));
  auto narrow = tensor(b, Extents(5, 4));
  auto ct = op.get_destination_cooperative_tensor<decltype(ta), decltype(wide), float>();
  op.run(ta, wide, ct);
  op.run(ta, narrow, ct);
  for (uint16_t i = 0; i < ct.get_capacity(); ++i) {
    auto at = ct.get_multidimensional_index(i);
    c[at[1] * 16 + at[0]] = ct.is_valid_element(i);
  }
}
)";
    std::vector<std::int32_t> wanted(16 * 16);
    for (std::size_t i = 0; i < wanted.size(); ++i) wanted[i] = mode == "multiply" ? i % 16 < 5 : 1;
    const Buffers buffers{std::vector<std::byte>(16 * 4 * 4), std::vector<std::byte>(16 * 4 * 4),
                          std::vector<std::byte>(16 * 16 * 4)};
    EXPECT_EQ(launch(source, buffers, {1, 1, 1}, 32), bytes_of(wanted)) << mode;
  }
}

TEST(TensorOperations, TileOfThreadgroupMemory) {
  const std::string source = kHeaders + R"(
kernel void k(device half* a, device half* b, device float* c, uint t [[thread_position_in_threadgroup]]) {
  threadgroup half ta[32 * 32];
  threadgroup half tb[32 * 32];
  for (uint i = t; i < 1024; i += 64) {
    ta[i] = a[i];
    tb[i] = b[i];
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  constexpr auto d = matmul2d_descriptor(32, 32, 32, false, false, false, matmul2d_descriptor::mode::multiply_accumulate);
  matmul2d<d, execution_simdgroups<2>> op;
  tensor<threadgroup half, Extents, tensor_inline> sa(ta, Extents(32, 32));
  tensor<threadgroup half, Extents, tensor_inline> sb(tb, Extents(32, 32));
  auto ct = op.get_destination_cooperative_tensor<decltype(sa), decltype(sb), float>();
  for (uint16_t i = 0; i < ct.get_capacity(); ++i) ct[i] = 0;
  op.run(sa, sb, ct);
  op.run(sa, sb, ct);
  ct.store(tensor(c, Extents(32, 32)));
}
)";
  const Matrix a = Matrix::random(32, 32, 7);
  const Matrix b = Matrix::random(32, 32, 8);
  Matrix wanted = product(a, b);
  for (double& value : wanted.values) value *= 2;
  const Buffers buffers{a.bytes(half()), b.bytes(half()), std::vector<std::byte>(32 * 32 * 4)};
  expect_values(launch(source, buffers, {1, 1, 1}, 64), kFloat, wanted);
}

TEST(TensorOperations, OneThreadByItself) {
  const std::string source = kHeaders + R"(
kernel void k(device float* a, device float* b, device float* c, uint t [[thread_position_in_threadgroup]]) {
  constexpr auto d = matmul2d_descriptor(4, 6, 5);
  matmul2d<d, execution_thread> op;
  auto ta = tensor(a + t * 20, Extents(5, 4));
  auto tb = tensor(b, Extents(6, 5));
  auto ct = op.get_destination_cooperative_tensor<decltype(ta), decltype(tb), float>();
  op.run(ta, tb, ct);
  for (uint16_t i = 0; i < ct.get_capacity(); ++i) {
    auto at = ct.get_multidimensional_index(i);
    c[t * 24 + at[1] * 6 + at[0]] = ct[i];
  }
}
)";
  const Matrix a = Matrix::random(8 * 4, 5, 9);
  const Matrix b = Matrix::random(5, 6, 10);
  const Buffers buffers{a.bytes(kFloat), b.bytes(kFloat), std::vector<std::byte>(8 * 24 * 4)};
  expect_values(launch(source, buffers, {1, 1, 1}, 8), kFloat, product(a, b));
}

// Windows of three by two that reach over the edges, every second column, rows two apart; one tap after the other.
TEST(TensorOperations, Convolution) {
  constexpr std::size_t kChannels = 5, kWidth = 13, kHeight = 9, kOutputs = 20, kOutWidth = 6, kOutHeight = 7;
  const std::string source = kHeaders + R"(
typedef dextents<int, 4> Extents4;
kernel void k(device half* a, device half* w, device float* c) {
  constexpr auto d = convolution2d_descriptor(
      int4(16, 4, 8, 1), int4(-1, 64, 64, 1), int2(3, 2), convolution2d_activation_layout::nhwc,
      convolution2d_weights_layout::hwio, int2(2, 1), int2(1, 2), 1, false,
      convolution2d_descriptor::mode::multiply_accumulate);
  convolution2d<d, execution_simdgroups<2>> op;
  auto ta = tensor(a, Extents4(5, 13, 9, 1));
  auto tw = tensor(w, Extents4(20, 5, 3, 2));
  for (int o = 0; o < 20; o += 16) {
    for (int x = 0; x < 6; x += 4) {
      // The middle of a window of three is its second, of two that lie two apart the one between, rounded up.
      op.set_offsets(int2(x * 2 - 1 + 1, 0 + 1));
      auto sw = tw.slice(o, 0, 0, 0);
      auto ct = op.get_destination_cooperative_tensor<decltype(ta), decltype(sw), float>();
      for (uint16_t i = 0; i < ct.get_capacity(); ++i) ct[i] = 0;
      op.run(ta, sw, ct);
      for (uint16_t i = 0; i < ct.get_capacity(); ++i) {
        auto at = ct.get_multidimensional_index(i);
        if (o + at[0] < 20 && x + at[1] < 6 && at[2] < 7) c[((o + at[0]) * 7 + at[2]) * 6 + x + at[1]] = ct[i];
      }
    }
  }
}
)";
  const Matrix pixels = Matrix::random(kHeight * kWidth, kChannels, 11);
  const Matrix weights = Matrix::random(2 * 3 * kChannels, kOutputs, 12);
  Matrix wanted{kOutputs * kOutHeight, kOutWidth, std::vector<double>(kOutputs * kOutHeight * kOutWidth)};
  for (std::size_t o = 0; o < kOutputs; ++o) {
    for (std::size_t y = 0; y < kOutHeight; ++y) {
      for (std::size_t x = 0; x < kOutWidth; ++x) {
        double& sum = wanted.values[(o * kOutHeight + y) * kOutWidth + x];
        for (std::size_t tap = 0; tap < 6; ++tap) {
          const std::size_t column = x * 2 + tap % 3 - 1;  // beyond all columns where it is -1
          const std::size_t row = y + tap / 3 * 2;
          if (column >= kWidth || row >= kHeight) continue;
          for (std::size_t channel = 0; channel < kChannels; ++channel)
            sum += pixels.at(row * kWidth + column, channel) * weights.at(tap * kChannels + channel, o);
        }
      }
    }
  }
  const Buffers buffers{pixels.bytes(half()), weights.bytes(half()), std::vector<std::byte>(wanted.values.size() * 4)};
  expect_values(launch(source, buffers, {1, 1, 1}, 64), kFloat, wanted);
}

// The headers say how large a thread's part is, the engines what it holds.
TEST(TensorOperations, PartsAreAsLargeAsTheHeadersSay) {
  const std::vector<std::array<std::uint32_t, 3>> shapes{{16, 16, 32},  {16, 32, 32},  {64, 64, 128}, {50, 70, 64},
                                                         {16, 16, 128}, {48, 80, 160}, {5, 7, 1},     {1, 1, 32}};
  std::string source = kHeaders + "kernel void k(device int* c) {\n";
  std::vector<std::int32_t> wanted;
  for (const auto& [rows, columns, threads] : shapes) {
    source += "c[" + std::to_string(wanted.size()) + "] = __part_of_matrix(" + std::to_string(rows) + ", " +
              std::to_string(columns) + ", " + std::to_string(threads) + ");\n";
    wanted.push_back(static_cast<std::int32_t>(abi::CooperativeLayout{rows, columns, threads}.capacity()));
  }
  EXPECT_EQ(launch(source + "}\n", {std::vector<std::byte>(wanted.size() * 4)}, {1, 1, 1}, 1), bytes_of(wanted));
}

// The same as on a Mac before M5: the Mac is chosen once for a process.
TEST(TensorOperations, OnAnOlderGpu) {
  if (abi::fragment_order() == abi::FragmentOrder::kPairs) GTEST_SKIP() << "this is that Mac";
  const std::string self = std::filesystem::read_symlink("/proc/self/exe");
  const std::string command = "ANYMPS_MAC=m4-16gb '" + self + "' --gtest_brief=1 --gtest_filter='*Tensor*'";
  EXPECT_EQ(std::system(command.c_str()), 0);
}

TEST(TensorOperations, EveryElementHasOneHolder) {
  using abi::FragmentOrder;
  for (const FragmentOrder order : {FragmentOrder::kQuads, FragmentOrder::kPairs}) {
    for (const abi::CooperativeLayout layout :
         {abi::CooperativeLayout{16, 16, 32, false, order}, abi::CooperativeLayout{50, 70, 128, false, order},
          abi::CooperativeLayout{50, 70, 32, true, order}, abi::CooperativeLayout{16, 48, 64, true, order},
          abi::CooperativeLayout{3, 5, 1, true, order}}) {
      std::vector<int> holders(std::size_t{layout.rows} * layout.columns);
      const std::uint32_t lanes = layout.alone() ? 1 : 32;
      for (std::uint32_t simdgroup = 0; simdgroup < layout.simdgroups(); ++simdgroup) {
        for (std::uint32_t lane = 0; lane < lanes; ++lane) {
          for (std::uint32_t slot = 0; slot < layout.capacity(); ++slot) {
            const auto at = layout.at(simdgroup, lane, slot);
            if (at.row < layout.rows && at.column < layout.columns) ++holders[at.row * layout.columns + at.column];
          }
        }
      }
      EXPECT_TRUE(std::ranges::all_of(holders, [](int count) { return count == 1; }))
          << layout.rows << " by " << layout.columns;
    }
  }
}

// --- What is refused.

std::string refusal_by_both(const AirText& air) {
  const OwnedFunction function(air);
  const auto said_by = [&](const std::function<void()>& make) -> std::string {
    try {
      make();
    } catch (const std::runtime_error& refused) {
      return refused.what();
    }
    return "";
  };
  EXPECT_NE(said_by([&] { interpret::make_interpreter(function.entry, {}); }), "");
  return said_by([&] { engine::make_pipeline(function.entry, {}); });
}

TEST(TensorOperations, RefusesWhatIsNotKnown) {
  const std::string run = "__tensorops_impl_matmul2d_op_run_cooperative_f8_f8_f32";
  EXPECT_EQ(refusal_by_both(
                AirText()
                    .buffers(1)
                    .outside("declare void @" + run + "(ptr, ptr, ptr, ptr, i32)\n")
                    .body("  call void @" + run + "(ptr null, ptr null, ptr null, ptr null, i32 32)\n  ret void\n")),
            "k: it calls " + run + ", which is not known here");
  const std::string size = "__tensorops_impl_matmul2d_op_cooperative_tensor_data_size";
  EXPECT_EQ(refusal_by_both(AirText()
                                .buffers(1)
                                .outside("declare i64 @" + size + "(i32)\n")
                                .body("  %x = call i64 @" + size + "(i32 0)\n  ret void\n")),
            "k: it calls " + size + ", which is not known here");
}

TEST(TensorOperations, RefusesTensorsOfTheHost) {
  EXPECT_NE(refusal_of(kHeaders + "kernel void k(device float* c) { tensor<device float, Extents> t; }")
                .find("tensors that the host binds are not known here"),
            std::string::npos);
}

TEST(TensorOperations, RefusesCooperativeInputsOfSeveralSimdgroups) {
  const std::string source = kHeaders + R"(
kernel void k(device float* c) {
  constexpr auto d = matmul2d_descriptor(32, 32, 16);
  matmul2d<d, execution_simdgroups<2>> op;
  auto a = op.get_left_input_cooperative_tensor<float, float, float>();
  auto b = op.get_right_input_cooperative_tensor<float, float, float>();
  auto ct = op.get_destination_cooperative_tensor<decltype(a), decltype(b), float>();
  op.run(a, b, ct);
})";
  EXPECT_NE(refusal_of(source).find("cooperative tensors are multiplied by one simdgroup"), std::string::npos);
}

}  // namespace
}  // namespace anymps::metal
