#include "metal/tool/buffer_text.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "gpu/support/whole_file.h"
#include "metal/tool/file_bytes.h"
#include "metal/tool/npy.h"
#include "scratch_folder.h"

namespace anymps::metal {
namespace {

constexpr tool::ElementType kFloat{tool::Scalar::kF32};

// All scalars, as numbers.
std::vector<double> numbers(const tool::Buffer& buffer) {
  const std::vector<std::byte> scalars = tool::scalars_of(buffer.type, buffer.memory.bytes());
  const std::size_t size = tool::size_of(buffer.type.scalar);
  std::vector<double> result;
  for (std::size_t i = 0; i < scalars.size() / size; ++i) {
    result.push_back(std::visit([](auto number) { return static_cast<double>(number); },
                                tool::number_at(buffer.type.scalar, scalars.data() + i * size)));
  }
  return result;
}

std::vector<double> numbers(const std::string& text, const std::optional<tool::ElementType>& type = kFloat) {
  return numbers(tool::buffer_of(text, type, 0, 0));
}

std::string buffer_refusal(const std::string& text, const std::optional<tool::ElementType>& type = kFloat) {
  try {
    tool::buffer_of(text, type, 0, 0);
  } catch (const tool::RequestError& error) {
    return error.what();
  }
  return "taken";
}

TEST(ElementType, KnowsMetalsNamesAndShortOnes) {
  EXPECT_EQ(tool::element_type("float"), kFloat);
  EXPECT_EQ(tool::element_type("f32"), kFloat);
  EXPECT_EQ(tool::element_type("atomic_uint"), tool::ElementType{tool::Scalar::kU32});
  EXPECT_EQ(tool::element_type("bf16"), tool::ElementType{tool::Scalar::kBf16});
  EXPECT_EQ(tool::element_type("ushort4"), (tool::ElementType{tool::Scalar::kU16, 4}));
  EXPECT_EQ(tool::element_type("packed_half3"), (tool::ElementType{tool::Scalar::kF16, 3, true}));
  for (const char* other : {"", "double", "float5", "float16", "packed_float", "void", "f32x4", "Params<float>"}) {
    EXPECT_EQ(tool::element_type(other), std::nullopt) << other;
  }
  for (const char* name : {"bool", "char2", "ulong", "bfloat4", "packed_int3"}) {
    EXPECT_EQ(tool::name_of(*tool::element_type(name)), name);
  }
}

TEST(ElementType, AVectorOfThreeHasTheRoomOfFour) {
  EXPECT_EQ(tool::element_type("float3")->stride(), 16U);
  EXPECT_EQ(tool::element_type("packed_float3")->stride(), 12U);
  const tool::Buffer buffer = tool::buffer_of("1,2,3,4,5,6", tool::element_type("float3"), 0, 0);
  EXPECT_EQ(buffer.memory.size(), 32U);
  EXPECT_EQ(numbers(buffer), (std::vector<double>{1, 2, 3, 4, 5, 6}));
}

TEST(BufferText, TakesNumbers) {
  EXPECT_EQ(numbers("3.5"), std::vector<double>{3.5});
  EXPECT_EQ(numbers("1,-2,1e+2,inf").at(2), 100);
  EXPECT_EQ(numbers("-3,0x10", tool::ElementType{tool::Scalar::kI8}), (std::vector<double>{-3, 16}));
  EXPECT_EQ(numbers("true,0", tool::ElementType{tool::Scalar::kBool}), (std::vector<double>{1, 0}));
  EXPECT_EQ(numbers("0.1", tool::ElementType{tool::Scalar::kF16}).at(0), 0.0999755859375);
  EXPECT_EQ(numbers("0.1", tool::ElementType{tool::Scalar::kBf16}).at(0), 0.10009765625);
  EXPECT_EQ(numbers("18446744073709551615", tool::ElementType{tool::Scalar::kU64}).at(0), 0x1p64);
}

TEST(BufferText, RefusesWhatIsNoNumberOfTheType) {
  EXPECT_EQ(buffer_refusal("3x"), "`3x` is no value of float");
  EXPECT_EQ(buffer_refusal("1,,2"), "`` is no value of float");
  EXPECT_EQ(buffer_refusal("256", tool::ElementType{tool::Scalar::kU8}), "`256` is no value of uchar");
  EXPECT_EQ(buffer_refusal("-129", tool::ElementType{tool::Scalar::kI8}), "`-129` is no value of char");
  EXPECT_EQ(buffer_refusal("1.5", tool::ElementType{tool::Scalar::kI32}), "`1.5` is no value of int");
  EXPECT_EQ(buffer_refusal("-1", tool::ElementType{tool::Scalar::kU32}), "`-1` is no value of uint");
  EXPECT_EQ(buffer_refusal("1,2,3", tool::element_type("int2")), "`1,2,3` has 3 numbers; int2 takes 2 each");
}

TEST(BufferText, Fills) {
  EXPECT_EQ(numbers("zeros:3"), (std::vector<double>{0, 0, 0}));
  EXPECT_EQ(numbers("ones:2", tool::element_type("half2")), (std::vector<double>{1, 1, 1, 1}));
  EXPECT_EQ(numbers("iota:3", tool::ElementType{tool::Scalar::kI64}), (std::vector<double>{0, 1, 2}));
  EXPECT_EQ(numbers("iota:257", tool::ElementType{tool::Scalar::kU8}).back(), 0) << "whole numbers wrap around";
  EXPECT_EQ(numbers(tool::buffer_of("half:iota:3", kFloat, 0, 0)).back(), 2);
  EXPECT_EQ(tool::buffer_of("half:iota:3", kFloat, 0, 0).memory.size(), 6U);
  for (const char* text : {"zeros:0", "zeros:", "zeros:-1", "zeros:4294967296", "ones:1e3"}) {
    EXPECT_NE(buffer_refusal(text).find("a number of elements from 1 to 536870912 belongs behind the colon"),
              std::string::npos)
        << text;
  }
  EXPECT_NE(buffer_refusal("twos:3").find("there are zeros:N"), std::string::npos);
}

TEST(BufferText, RandomNumbersFollowTheSeed) {
  const auto draw = [](std::uint64_t seed, std::uint64_t stream) {
    return numbers(tool::buffer_of("random:1000", kFloat, seed, stream));
  };
  EXPECT_EQ(draw(1, 0), draw(1, 0));
  EXPECT_NE(draw(1, 0), draw(2, 0));
  EXPECT_NE(draw(1, 0), draw(1, 1));
  double sum = 0;
  for (const double value : draw(1, 0)) {
    EXPECT_TRUE(value >= -1 && value < 1) << value;
    sum += value;
  }
  EXPECT_LT(std::abs(sum), 100);
  for (const double value : numbers("random:500", tool::ElementType{tool::Scalar::kU8}))
    EXPECT_TRUE(value >= 0 && value < 100);
}

TEST(BufferText, JoinsMembersOfAStructWhereTheirAlignmentPutsThem) {
  const tool::Buffer buffer = tool::buffer_of("uchar:7+float:0.5+ulong:3+bool:1", std::nullopt, 0, 0);
  ASSERT_EQ(buffer.memory.size(), 24U);
  EXPECT_EQ(numbers(buffer).at(0), 7);
  EXPECT_EQ(std::get<double>(tool::number_at(tool::Scalar::kF32, buffer.memory.bytes().data() + 4)), 0.5);
  EXPECT_EQ(std::get<std::uint64_t>(tool::number_at(tool::Scalar::kU64, buffer.memory.bytes().data() + 8)), 3U);
  EXPECT_EQ(numbers(buffer).at(16), 1);
}

TEST(BufferText, AsksForATypeWhereThereIsNone) {
  EXPECT_NE(buffer_refusal("1,2", std::nullopt).find("say of which type it is, such as float:1,2"), std::string::npos);
  EXPECT_EQ(numbers("int:1,2", std::nullopt), (std::vector<double>{1, 2}));
}

void write_bytes(const std::string& file, std::span<const std::byte> bytes) {
  gpu::support::write_whole(file, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

TEST(BufferText, NamesItsFiles) {
  EXPECT_EQ(tool::files_in("@a.npy"), std::vector<std::string>{"a.npy"});
  EXPECT_EQ(tool::files_in("half:@a.bin+uint:3+float:@b.bin"), (std::vector<std::string>{"a.bin", "b.bin"}));
  EXPECT_TRUE(tool::files_in("iota:3").empty());
  EXPECT_TRUE(tool::files_in("none").empty());
}

class Npy : public ::testing::Test {
 protected:
  std::string path(const char* name) const { return (scratch_.path() / name).string(); }
  std::string written(const std::string& header, std::size_t bytes) const {
    std::string text = "\x93NUMPY";
    text += {'\x01', '\x00', static_cast<char>(header.size()), '\x00'};
    text += header + std::string(bytes, '\0');
    gpu::support::write_whole(path("made.npy"), text);
    return path("made.npy");
  }
  static std::string refusal_of(const std::string& file) {
    try {
      tool::read_npy(file);
    } catch (const tool::RequestError& error) {
      EXPECT_TRUE(std::string(error.what()).starts_with(file + ": ")) << error.what();
      return error.what() + file.size() + 2;
    }
    return "read";
  }

  const ScratchFolder scratch_;
};

TEST_F(Npy, ReadsWhatItWrites) {
  for (const char* name : {"bool", "char", "ushort", "long", "half", "bfloat", "float"}) {
    const tool::Buffer buffer = tool::buffer_of("ones:6", tool::element_type(name), 0, 0);
    write_bytes(path("a.npy"),
                tool::npy_of({buffer.type.scalar, {2, 3}, tool::scalars_of(buffer.type, buffer.memory.bytes())}));
    const tool::Buffer read = tool::buffer_of("@" + path("a.npy"), tool::element_type(name), 0, 0);
    EXPECT_EQ(numbers(read), numbers(buffer)) << name;
    EXPECT_EQ(read.shape, (std::vector<std::size_t>{2, 3}));
    EXPECT_EQ(std::filesystem::file_size(path("a.npy")) % 64, 6 * tool::size_of(buffer.type.scalar) % 64);
  }
}

TEST_F(Npy, TakesWhatNumPyWrites) {
  EXPECT_EQ(tool::read_npy(written("{'descr': '<i4', 'fortran_order': False, 'shape': (2, 3), }\n", 24)).shape.size(),
            2U);
  EXPECT_TRUE(tool::read_npy(written("{'descr': '|u1', 'fortran_order': True, 'shape': (), }\n", 1)).shape.empty());
  const tool::NpyArray complex =
      tool::read_npy(written("{'descr': '<c8', 'fortran_order': False, 'shape': (2,), }", 16));
  EXPECT_EQ(complex.scalar, tool::Scalar::kF32);
  EXPECT_EQ(complex.shape, (std::vector<std::size_t>{2, 2}));
}

TEST_F(Npy, RefusesTheRest) {
  EXPECT_EQ(refusal_of(written("{'descr': '<f8', 'fortran_order': False, 'shape': (2,), }", 16)),
            "it holds `<f8`, which Metal has no type for");
  EXPECT_EQ(refusal_of(written("{'descr': '>f4', 'fortran_order': False, 'shape': (2,), }", 8)),
            "it holds `>f4`, which Metal has no type for");
  EXPECT_EQ(refusal_of(written("{'descr': '<f4', 'fortran_order': True, 'shape': (2, 2), }", 16)),
            "its axes are in Fortran's order; save numpy.ascontiguousarray of it");
  EXPECT_EQ(refusal_of(written("{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }", 8)),
            "its shape (3, ) asks for 12 bytes; there are 8");
  EXPECT_EQ(refusal_of(written("{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296, 9), }", 8)),
            "its shape overflows");
  EXPECT_EQ(refusal_of(written("{'descr': '<f4', 'fortran_order': False, 'shape': (-3,), }", 8)),
            "its shape has `-3` in it");
  EXPECT_EQ(refusal_of(written("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (3,), }", 12)),
            "the descr in its header is not one that is known here");
  EXPECT_EQ(refusal_of(written("{'fortran_order': False}", 8)), "its header names no descr");
  EXPECT_EQ(refusal_of(written("", 0)), "not a NumPy array: it does not begin as one");
  EXPECT_NE(refusal_of(path("none.npy")), "read");
  const std::string whole = written("{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }", 12);
  const std::vector<std::byte> bytes = tool::read_bytes(whole);
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    write_bytes(whole, std::span(bytes).first(size));
    EXPECT_NE(refusal_of(whole), "read") << size;
  }
}

TEST_F(Npy, AFileOfAnotherTypeIsRefused) {
  const std::string file = written("{'descr': '<i4', 'fortran_order': False, 'shape': (2, ), }", 8);
  EXPECT_EQ(buffer_refusal("@" + file),
            file + ": it holds int; float is asked for (to pass it as it is: int:@" + file + ")");
  EXPECT_EQ(numbers("int:@" + file), (std::vector<double>{0, 0}));
  EXPECT_NE(buffer_refusal("int3:@" + file).find("2 numbers are no whole number of elements; int3 is asked for"),
            std::string::npos);
  write_bytes(path("x.bin"), std::span(tool::AlignedBytes(std::vector<std::byte>(6)).bytes()));
  EXPECT_NE(buffer_refusal("@" + path("x.bin")).find("6 bytes are no whole number of elements"), std::string::npos);
  EXPECT_EQ(numbers("half:@" + path("x.bin")), (std::vector<double>{0, 0, 0}));
}

}  // namespace
}  // namespace anymps::metal
