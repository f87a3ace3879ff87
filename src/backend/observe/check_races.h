// Memory of the host that a copy with non_blocking=True still reads or writes: on a Mac, until the host next waits for
// the device. Who reads or changes it before has a race.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/record_function.h>

namespace anymps::backend::observe {

// The line that runs copied to the host's tensor, or from it, and did not wait.
void begin_copy_to_host(const at::Tensor& host, const at::Tensor& device);
void begin_copy_from_host(const at::Tensor& host, const at::Tensor& device);

// The host has waited for the device.
void end_host_copies();

// An operator is called.
void check_races(const at::RecordFunction& function);

// The host looks at a tensor's memory without an operator: numpy(), tolist().
void note_host_read(const at::Tensor& host);

}  // namespace anymps::backend::observe
