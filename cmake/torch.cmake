# PyTorch as an imported target, straight from the installed wheel.
# Not find_package(Torch): with a CUDA build of the wheel that demands a CUDA toolkit, which our users do not have.
find_package(Python COMPONENTS Interpreter Development.Module REQUIRED)

execute_process(
  COMMAND ${Python_EXECUTABLE} -c
          "import os; os.environ['ANYMPS'] = '0'; os.environ['TORCH_DEVICE_BACKEND_AUTOLOAD'] = '0'
import torch, pathlib; print(pathlib.Path(torch.__file__).parent, torch.__version__.split('+')[0], torch.version.git_version, int(torch._C._GLIBCXX_USE_CXX11_ABI), sep=';')"
  OUTPUT_VARIABLE torch_facts
  OUTPUT_STRIP_TRAILING_WHITESPACE
  RESULT_VARIABLE torch_status)
if(NOT torch_status EQUAL 0)
  message(FATAL_ERROR "anymps builds against an installed PyTorch, and '${Python_EXECUTABLE} -c \"import torch\"' failed. "
                      "Install torch into that environment and build with --no-build-isolation.")
endif()
list(GET torch_facts 0 ANYMPS_TORCH_DIR)
list(GET torch_facts 1 ANYMPS_TORCH_VERSION)
list(GET torch_facts 2 ANYMPS_TORCH_COMMIT)
list(GET torch_facts 3 ANYMPS_TORCH_CXX11_ABI)
message(STATUS "PyTorch ${ANYMPS_TORCH_VERSION} at ${ANYMPS_TORCH_DIR}")

# Where what is installed beside the torch package finds its libraries. An editable install lies elsewhere.
set(ANYMPS_TORCH_RPATH "$ORIGIN/../../torch/lib;$ORIGIN/../../torch.libs")
if(ANYMPS_EDITABLE)
  list(APPEND ANYMPS_TORCH_RPATH "${ANYMPS_TORCH_DIR}/lib" "${ANYMPS_TORCH_DIR}.libs")
endif()

add_library(anymps_torch INTERFACE)
target_include_directories(anymps_torch SYSTEM INTERFACE
  ${ANYMPS_TORCH_DIR}/include ${ANYMPS_TORCH_DIR}/include/torch/csrc/api/include)
target_compile_definitions(anymps_torch INTERFACE
  _GLIBCXX_USE_CXX11_ABI=${ANYMPS_TORCH_CXX11_ABI}
  ANYMPS_TORCH_VERSION="${ANYMPS_TORCH_VERSION}"
  ANYMPS_TORCH_COMMIT="${ANYMPS_TORCH_COMMIT}")
target_link_libraries(anymps_torch INTERFACE
  ${ANYMPS_TORCH_DIR}/lib/libtorch.so ${ANYMPS_TORCH_DIR}/lib/libtorch_cpu.so ${ANYMPS_TORCH_DIR}/lib/libc10.so)
