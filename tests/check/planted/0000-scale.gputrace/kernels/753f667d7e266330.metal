
kernel void scale(device float* values, constant float& factor, uint index [[thread_position_in_grid]]) {
  values[index] *= factor;
}

