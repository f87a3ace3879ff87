// The CPU that code is made for: this one, with all that it has.
#pragma once

#include <llvm/ExecutionEngine/Orc/JITTargetMachineBuilder.h>

#include <string>

namespace anymps::metal::support {

llvm::orc::JITTargetMachineBuilder host_target();

// Triple, CPU and features in one text: objects for one are not for another.
const std::string& host_name();

}  // namespace anymps::metal::support
