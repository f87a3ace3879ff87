// What a C++ programmer would write for a CPU: the yardstick for the Metal kernels of the same names. Plain loops, laid
// out so that the compiler vectorises them; `split` shares the outer ones out among threads.
#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>
#include <utility>

#include "split.h"
#include "vector_math.h"

using std::uint32_t;
using std::uint8_t;

extern "C" {

void set_threads(uint32_t count) { threads = count; }

void copy(const float* x, float* out, uint32_t count) {
  split(count, [=](uint32_t first, uint32_t last, uint32_t) {
#pragma omp simd
    for (uint32_t i = first; i < last; ++i) out[i] = x[i];
  });
}

void saxpy(const float* x, const float* y, float* out, float a, uint32_t count) {
  split(count, [=](uint32_t first, uint32_t last, uint32_t) {
#pragma omp simd
    for (uint32_t i = first; i < last; ++i) out[i] = a * x[i] + y[i];
  });
}

void strided(const float* x, float* out, uint32_t stride, float bias, uint32_t count) {
  split(count, [=](uint32_t first, uint32_t last, uint32_t) {
#pragma omp simd
    for (uint32_t i = first; i < last; ++i) out[i] = x[std::size_t{i} * stride] + bias;
  });
}

// In squares, so that the lines of both sides stay in the first cache.
void transpose(const float* x, float* out, uint32_t width, uint32_t height) {
  constexpr uint32_t kSquare = 16;
  split(height / kSquare, [=](uint32_t first, uint32_t last, uint32_t) {
    for (uint32_t top = first * kSquare; top < last * kSquare; top += kSquare)
      for (uint32_t left = 0; left < width; left += kSquare)
        for (uint32_t c = left; c < left + kSquare; ++c)
#pragma omp simd
          for (uint32_t r = top; r < top + kSquare; ++r) out[c * height + r] = x[r * width + c];
  });
}

void softmax(const float* x, float* out, uint32_t rows, uint32_t columns) {
  split(rows, [=](uint32_t first, uint32_t last, uint32_t) {
    for (uint32_t row = first; row < last; ++row) {
      const float* from = x + row * columns;
      float* to = out + row * columns;
      float highest = from[0], sum = 0;
#pragma omp simd reduction(max : highest)
      for (uint32_t c = 0; c < columns; ++c) highest = std::max(highest, from[c]);
#pragma omp simd reduction(+ : sum)
      for (uint32_t c = 0; c < columns; ++c) sum += to[c] = fast_exp(from[c] - highest);
      const float scale = 1 / sum;
#pragma omp simd
      for (uint32_t c = 0; c < columns; ++c) to[c] *= scale;
    }
  });
}

void layer_norm(const float* x, const float* weight, const float* bias, float* out, float epsilon, uint32_t rows,
                uint32_t columns) {
  split(rows, [=](uint32_t first, uint32_t last, uint32_t) {
    for (uint32_t row = first; row < last; ++row) {
      const float* from = x + row * columns;
      float* to = out + row * columns;
      float sum = 0, squares = 0;
#pragma omp simd reduction(+ : sum)
      for (uint32_t c = 0; c < columns; ++c) sum += from[c];
      const float mean = sum / columns;
#pragma omp simd reduction(+ : squares)
      for (uint32_t c = 0; c < columns; ++c) squares += (from[c] - mean) * (from[c] - mean);
      const float scale = 1 / std::sqrt(squares / columns + epsilon);
#pragma omp simd
      for (uint32_t c = 0; c < columns; ++c) to[c] = (from[c] - mean) * scale * weight[c] + bias[c];
    }
  });
}

void rms_norm(const float* x, const float* weight, float* out, float epsilon, uint32_t rows, uint32_t columns) {
  split(rows, [=](uint32_t first, uint32_t last, uint32_t) {
    for (uint32_t row = first; row < last; ++row) {
      const float* from = x + row * columns;
      float* to = out + row * columns;
      float squares = 0;
#pragma omp simd reduction(+ : squares)
      for (uint32_t c = 0; c < columns; ++c) squares += from[c] * from[c];
      const float scale = 1 / std::sqrt(squares / columns + epsilon);
#pragma omp simd
      for (uint32_t c = 0; c < columns; ++c) to[c] = from[c] * scale * weight[c];
    }
  });
}

// One thread walks; several sum their parts first, to know where each begins.
void prefix_sum(const uint32_t* x, uint32_t* out, uint32_t count) {
  std::vector<uint32_t> begins(threads + 1);
  if (threads > 1) {
    split(count, [=, &begins](uint32_t first, uint32_t last, uint32_t part) {
      begins[part + 1] = std::accumulate(x + first, x + last, 0u);
    });
    std::partial_sum(begins.begin(), begins.end(), begins.begin());
  }
  split(count, [=, &begins](uint32_t first, uint32_t last, uint32_t part) {
    uint32_t sum = begins[part];
    for (uint32_t i = first; i < last; ++i) out[i] = sum += x[i];
  });
}

// Four histograms, because the same bin twice in a row would wait for the store of the first.
void histogram(const uint8_t* x, uint32_t* bins, uint32_t count) {
  std::vector<std::array<std::array<uint32_t, 256>, 4>> all(threads);
  split(count / 8, [=, &all](uint32_t first, uint32_t last, uint32_t part) {
    auto& local = all[part];
    for (uint32_t i = first; i < last; ++i) {
      std::uint64_t eight;
      std::memcpy(&eight, x + std::size_t{i} * 8, 8);
      for (uint32_t b = 0; b < 8; ++b) ++local[b % 4][eight >> (8 * b) & 255];
    }
  });
  for (uint32_t bin = 0; bin < 256; ++bin) {
    bins[bin] = 0;
    for (const auto& four : all) bins[bin] += four[0][bin] + four[1][bin] + four[2][bin] + four[3][bin];
  }
}

// One stable pass over four bits.
void radix_sort(const uint32_t* keys, uint32_t* out, uint32_t shift, uint32_t count) {
  std::vector<std::array<uint32_t, 16>> places(threads);
  split(count, [=, &places](uint32_t first, uint32_t last, uint32_t part) {
    std::array<std::array<uint32_t, 16>, 4> local{};  // as in the histogram
    uint32_t i = first;
    for (; i + 4 <= last; i += 4)
      for (uint32_t e = 0; e < 4; ++e) ++local[e][keys[i + e] >> shift & 15];
    for (; i < last; ++i) ++local[0][keys[i] >> shift & 15];
    for (uint32_t d = 0; d < 16; ++d) places[part][d] = local[0][d] + local[1][d] + local[2][d] + local[3][d];
  });
  uint32_t place = 0;
  for (uint32_t d = 0; d < 16; ++d)
    for (auto& part : places) place += std::exchange(part[d], place);
  split(count, [=, &places](uint32_t first, uint32_t last, uint32_t part) {
    std::array<uint32_t, 16> next = places[part];
    for (uint32_t i = first; i < last; ++i) out[next[keys[i] >> shift & 15]++] = keys[i];
  });
}

void stencil(const float* x, float* out, float rate, uint32_t width, uint32_t height) {
  split(height, [=](uint32_t first, uint32_t last, uint32_t) {
    for (uint32_t row = first; row < last; ++row) {
      const float* from = x + row * width;
      float* to = out + row * width;
      if (row == 0 || row == height - 1) {
        std::copy(from, from + width, to);
        continue;
      }
      const float *above = from - width, *below = from + width;
      to[0] = from[0];
      to[width - 1] = from[width - 1];
#pragma omp simd
      for (uint32_t c = 1; c < width - 1; ++c)
        to[c] = from[c] + rate * (from[c - 1] + from[c + 1] + above[c] + below[c] - 4 * from[c]);
    }
  });
}

// 4 x 16 of the result in registers; the columns of b that it needs are gathered once for all rows. Unrolled by hand:
// GCC left alone unrolls the outer loop and runs out of registers.
void matmul(const float* a, const float* b, float* out, uint32_t size) {
  constexpr uint32_t kRows = 4, kColumns = 16;
  split(size / kColumns, [=](uint32_t first, uint32_t last, uint32_t) {
    std::vector<float> panel(size * kColumns);
    for (uint32_t column = first * kColumns; column < last * kColumns; column += kColumns) {
      for (uint32_t k = 0; k < size; ++k) std::copy_n(b + k * size + column, kColumns, &panel[k * kColumns]);
      for (uint32_t row = 0; row < size; row += kRows) {
        float sums[kRows][kColumns] = {};
        const float *left = a + row * size, *right = panel.data();
#pragma GCC unroll 1
        for (uint32_t k = 0; k < size; ++k, right += kColumns) {
#pragma GCC unroll 4
          for (uint32_t r = 0; r < kRows; ++r) {
            const float l = left[r * size + k];
#pragma omp simd
            for (uint32_t c = 0; c < kColumns; ++c) sums[r][c] += l * right[c];
          }
        }
        for (uint32_t r = 0; r < kRows; ++r) std::copy_n(sums[r], kColumns, out + (row + r) * size + column);
      }
    }
  });
}

void attention(const float* q, const float* k, const float* v, float* out, uint32_t heads, uint32_t keys, float scale) {
  constexpr uint32_t kWidth = 64;
  split(heads, [=](uint32_t first, uint32_t last, uint32_t) {
    std::vector<float> weights(keys);
    float* weight = weights.data();
    for (uint32_t head = first; head < last; ++head) {
      const float *query = q + head * kWidth, *from = k + head * keys * kWidth, *value = v + head * keys * kWidth;
      for (uint32_t key = 0; key < keys; ++key) {
        float score = 0;
#pragma omp simd reduction(+ : score)
        for (uint32_t c = 0; c < kWidth; ++c) score += query[c] * from[key * kWidth + c];
        weight[key] = score * scale;
      }
      float highest = weight[0], total = 0, sum[kWidth] = {};
#pragma omp simd reduction(max : highest)
      for (uint32_t key = 0; key < keys; ++key) highest = std::max(highest, weight[key]);
#pragma omp simd reduction(+ : total)
      for (uint32_t key = 0; key < keys; ++key) total += weight[key] = fast_exp(weight[key] - highest);
      for (uint32_t key = 0; key < keys; ++key)
#pragma omp simd
        for (uint32_t c = 0; c < kWidth; ++c) sum[c] += weight[key] * value[key * kWidth + c];
      for (uint32_t c = 0; c < kWidth; ++c) out[head * kWidth + c] = sum[c] / total;
    }
  });
}

void quantised_matvec(const uint8_t* weights, const float* scales, const float* x, float* out, uint32_t rows,
                      uint32_t blocks) {
  split(rows, [=](uint32_t first, uint32_t last, uint32_t) {
    for (uint32_t row = first; row < last; ++row) {
      float sum = 0;
      for (uint32_t block = 0; block < blocks; ++block) {
        const uint8_t* packed = weights + (row * blocks + block) * 16;
        const float* values = x + block * 32;
        float part = 0;
#pragma omp simd reduction(+ : part)
        for (uint32_t i = 0; i < 16; ++i)
          part += ((packed[i] & 15) - 8) * values[i] + ((packed[i] >> 4) - 8) * values[i + 16];
        sum += scales[row * blocks + block] * part;
      }
      out[row] = sum;
    }
  });
}

// Sixteen neighbours at a time, until the last of them has left; it is asked every eighth step, because asking means to
// leave the vector unit.
void mandelbrot(int* out, uint32_t limit, float left, float top, float step, uint32_t width, uint32_t height) {
  constexpr uint32_t kLanes = 16, kSteps = 8;
  split(height, [=](uint32_t first, uint32_t last, uint32_t) {
    for (uint32_t row = first; row < last; ++row) {
      const float cy = top + row * step;
      for (uint32_t column = 0; column < width; column += kLanes) {
        float cx[kLanes], x[kLanes] = {}, y[kLanes] = {};
        int n[kLanes] = {}, inside[kLanes];
        for (uint32_t l = 0; l < kLanes; ++l) {
          cx[l] = left + (column + l) * step;
          inside[l] = -1;
        }
        for (uint32_t done = 0, some = 1; done < limit && some != 0; done += kSteps) {
          for (uint32_t s = 0; s < kSteps; ++s) {
#pragma omp simd
            for (uint32_t l = 0; l < kLanes; ++l) {
              const float xx = x[l] * x[l], yy = y[l] * y[l];
              inside[l] &= xx + yy <= 4 ? -1 : 0;
              n[l] -= inside[l];
              y[l] = 2 * x[l] * y[l] + cy;
              x[l] = xx - yy + cx[l];
            }
          }
          some = 0;
          for (uint32_t l = 0; l < kLanes; ++l) some |= inside[l];
        }
        std::copy_n(n, kLanes, out + row * width + column);
      }
    }
  });
}

static inline float normal(float d) {
  const float k = 1 / (1 + 0.2316419f * std::fabs(d));
  const float series = 0.31938153f + k * (-0.356563782f + k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f)));
  const float tail = 0.39894228f * fast_exp(-0.5f * d * d) * k * series;
  return d > 0 ? 1 - tail : tail;
}

void black_scholes(const float* price, const float* strike, const float* years, float* call, float* put, float rate,
                   float volatility, uint32_t count) {
  split(count, [=](uint32_t first, uint32_t last, uint32_t) {
#pragma omp simd
    for (uint32_t i = first; i < last; ++i) {
      const float s = price[i], x = strike[i], t = years[i], root = std::sqrt(t);
      const float d1 = (fast_log(s / x) + (rate + 0.5f * volatility * volatility) * t) / (volatility * root);
      const float n1 = normal(d1), n2 = normal(d1 - volatility * root), discounted = x * fast_exp(-rate * t);
      call[i] = s * n1 - discounted * n2;
      put[i] = discounted * (1 - n2) - s * (1 - n1);
    }
  });
}

// The bodies' parts in arrays of their own, so that a vector holds one part of several bodies.
void nbody(const float* bodies, float* out, uint32_t count, float softening) {
  std::vector<float> parts(4 * std::size_t{count});
  float *x = parts.data(), *y = x + count, *z = y + count, *mass = z + count;
  for (uint32_t i = 0; i < count; ++i) {
    x[i] = bodies[4 * i];
    y[i] = bodies[4 * i + 1];
    z[i] = bodies[4 * i + 2];
    mass[i] = bodies[4 * i + 3];
  }
  split(count, [=](uint32_t first, uint32_t last, uint32_t) {
    for (uint32_t i = first; i < last; ++i) {
      float ax = 0, ay = 0, az = 0;
#pragma omp simd reduction(+ : ax, ay, az)
      for (uint32_t j = 0; j < count; ++j) {
        const float dx = x[j] - x[i], dy = y[j] - y[i], dz = z[j] - z[i];
        const float inverse = 1 / std::sqrt(dx * dx + dy * dy + dz * dz + softening);
        const float pull = mass[j] * inverse * inverse * inverse;
        ax += dx * pull;
        ay += dy * pull;
        az += dz * pull;
      }
      out[4 * i] = ax;
      out[4 * i + 1] = ay;
      out[4 * i + 2] = az;
      out[4 * i + 3] = 0;
    }
  });
}

void binomial(const float* price, const float* strike, float* out, float up, float probability, float discount,
              uint32_t options) {
  constexpr uint32_t kLeaves = 256;
  const float rise = discount * probability, fall = discount * (1 - probability);
  split(options, [=](uint32_t first, uint32_t last, uint32_t) {
    float values[kLeaves];
    for (uint32_t option = first; option < last; ++option) {
#pragma omp simd
      for (uint32_t i = 0; i < kLeaves; ++i) {
        const float end = price[option] * fast_exp(up * (2.0f * i - (kLeaves - 1)));
        values[i] = std::max(end - strike[option], 0.0f);
      }
      for (uint32_t nodes = kLeaves - 1; nodes > 0; --nodes)
        for (uint32_t i = 0; i < nodes; ++i) values[i] = rise * values[i + 1] + fall * values[i];
      out[option] = values[0];
    }
  });
}

void spmv(const uint32_t* starts, const uint32_t* columns, const float* values, const float* x, float* out,
          uint32_t rows) {
  split(rows, [=](uint32_t first, uint32_t last, uint32_t) {
    for (uint32_t row = first; row < last; ++row) {
      float sum = 0;
#pragma omp simd reduction(+ : sum)
      for (uint32_t i = starts[row]; i < starts[row + 1]; ++i) sum += values[i] * x[columns[i]];
      out[row] = sum;
    }
  });
}

// std::min gives a reference, which GCC makes a branch of.
static inline void order(uint32_t& low, uint32_t& high) {
  const uint32_t a = low, b = high;
  low = a < b ? a : b;
  high = a < b ? b : a;
}

// The same network, without a branch: on 1,024 keys nearly twice as fast as std::sort. In the last two strides a vector
// takes its elements from several pairs.
void bitonic_sort(const uint32_t* x, uint32_t* out, uint32_t groups) {
  constexpr uint32_t kKeys = 1024;
  split(groups, [=](uint32_t first, uint32_t last, uint32_t) {
    for (uint32_t group = first; group < last; ++group) {
      uint32_t* keys = out + group * kKeys;
      std::copy_n(x + group * kKeys, kKeys, keys);
      for (uint32_t size = 2; size <= kKeys; size *= 2) {
        for (uint32_t stride = size / 2; stride > 2; stride /= 2)
          for (uint32_t base = 0; base < kKeys; base += 2 * stride) {
            uint32_t *low = keys + base, *high = low + stride;
            if ((base & size) != 0) std::swap(low, high);
#pragma omp simd
            for (uint32_t i = 0; i < stride; ++i) order(low[i], high[i]);
          }
        for (uint32_t base = 0; base < kKeys && size > 2; base += size) {
          uint32_t *low = keys + base, *high = low + 2;
          if ((base & size) != 0) std::swap(low, high);
#pragma omp simd
          for (uint32_t i = 0; i < size; i += 4) {
            order(low[i], high[i]);
            order(low[i + 1], high[i + 1]);
          }
        }
        for (uint32_t base = 0; base < kKeys; base += size) {
          uint32_t *low = keys + base, *high = low + 1;
          if ((base & size) != 0) std::swap(low, high);
#pragma omp simd
          for (uint32_t i = 0; i < size; i += 2) order(low[i], high[i]);
        }
      }
    }
  });
}

void reduction(const float* x, float* out, uint32_t count) {
  std::vector<float> sums(threads);
  split(count, [=, &sums](uint32_t first, uint32_t last, uint32_t part) {
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (uint32_t i = first; i < last; ++i) sum += x[i];
    sums[part] = sum;
  });
  out[0] = std::accumulate(sums.begin(), sums.end(), 0.0f);
}

}  // extern "C"
