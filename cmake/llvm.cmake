# LLVM and Clang as two interface libraries, anymps_llvm and anymps_clang, from the static archives of Debian's packages:
# what is installed then needs none of these packages, and another LLVM in the process does not meet ours.
find_package(LLVM 19.1 REQUIRED CONFIG)

# The target that code is made for, and what Clang's archives use of LLVM beside what our sources name.
llvm_map_components_to_libnames(llvm_archives
  ${LLVM_NATIVE_ARCH} AsmParser BitReader BitWriter Core Coroutines Coverage Demangle FrontendDriver FrontendHLSL FrontendOffloading
  FrontendOpenMP InstCombine Instrumentation IPO IRPrinter IRReader JITLink Linker LTO ObjCARCOpts OrcJIT Option Passes
  ProfileData ScalarOpts Support Target TargetParser TransformUtils Vectorize WindowsDriver)

# The archives are said to need shared libraries of Debian's. zlib and zstd are there as archives, too; of z3 only the
# analyser of Clang's has a use, which we do not link.
set(LLVM_ARCHIVE_NEEDS rt dl m LLVMDemangle)
foreach(name z zstd)
  find_library(${name}_archive NAMES lib${name}.a REQUIRED)
  list(APPEND LLVM_ARCHIVE_NEEDS ${${name}_archive})
endforeach()
set_target_properties(LLVMSupport PROPERTIES INTERFACE_LINK_LIBRARIES "${LLVM_ARCHIVE_NEEDS}")

add_library(anymps_llvm INTERFACE)
target_include_directories(anymps_llvm SYSTEM INTERFACE ${LLVM_INCLUDE_DIRS})
target_link_libraries(anymps_llvm INTERFACE ${llvm_archives})

# For tests: what changes modules at random, what compares IR with patterns, and one target wherever they run. They stand
# before what they need.
add_library(anymps_llvm_for_tests INTERFACE)
target_link_libraries(anymps_llvm_for_tests INTERFACE LLVMFuzzMutate LLVMFileCheck LLVMX86CodeGen LLVMX86Desc LLVMX86Info
  anymps_llvm)

# By hand: Clang's own list of its archives asks for LLVM's shared library. Each stands before those that it needs.
set(clang_archives "")
foreach(name CodeGen Frontend Driver Parse Serialization Sema APINotes Analysis Edit ASTMatchers AST Support Lex Basic)
  find_library(clang_${name}_archive NAMES libclang${name}.a HINTS ${LLVM_LIBRARY_DIR} NO_DEFAULT_PATH REQUIRED)
  list(APPEND clang_archives ${clang_${name}_archive})
endforeach()
add_library(anymps_clang INTERFACE)
target_link_libraries(anymps_clang INTERFACE ${clang_archives} anymps_llvm)
