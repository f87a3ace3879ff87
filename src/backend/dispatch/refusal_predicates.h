// Conditions of data/refusals.txt that are not "this argument has one of these types". Each looks at the arguments of
// one operator, in the order of its schema.
#pragma once

#include <ATen/core/ivalue.h>
#include <c10/util/ArrayRef.h>

namespace anymps::backend::dispatch::predicates {

using Predicate = bool(c10::ArrayRef<c10::IValue> arguments);

// mm, bmm
Predicate types_differ;

// _weight_int8pack_mm
Predicate sizes_are_no_multiples_of_32;

// linalg_lu_factor_ex, linalg_lu
Predicate pivot_is_false;

// linalg_solve_triangular
Predicate right_side_alone_is_complex;

// random_, uniform_, normal_, bernoulli_, ...
Predicate is_larger_than_int_max;

// linalg_matrix_exp
Predicate is_below_macos_15;

// scatter_reduce, by amin or amax
Predicate compares_int64;
Predicate compares_int64_below_macos_15;
Predicate compares_int32_below_macos_15;

// _fft_r2c, _fft_c2r, _fft_c2c
Predicate transforms_more_than_four_dimensions;

// adaptive_avg_pool2d: on a Mac it is an average pool with one window size for all outputs.
Predicate sizes_grow_and_shrink;
Predicate input_not_divisible_by_output;
Predicate output_not_divisible_by_input;

// topk, kthvalue
Predicate dim_is_more_than_four_from_the_end;

// grid_sampler_3d, grid_sampler_3d_backward
Predicate interpolation_is_nearest;
Predicate interpolation_is_bicubic;
Predicate interpolation_of_backward_is_bicubic;

// _index_put_impl_, with accumulate; scatter_reduce and index_reduce, unless by amin or amax. Integers are exempt: the
// order of their additions does not show.
Predicate accumulates_fractions;
Predicate sums_or_multiplies_fractions;

Predicate always;

}  // namespace anymps::backend::dispatch::predicates
