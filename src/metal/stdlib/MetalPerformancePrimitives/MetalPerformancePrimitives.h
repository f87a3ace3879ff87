// Operations on tensors.
#pragma once

#include <MetalPerformancePrimitives/MPPTensorOpsConvolution2d.h>
#include <MetalPerformancePrimitives/MPPTensorOpsMatMul2d.h>
