# What is built against PyTorch, straight from its wheel: once for the torch that this Python imports, and once for each
# of ANYMPS_MORE_TORCHES, packages of other releases that need not be able to run here. Target anymps_for_wheels builds the latter.
# Not find_package(Torch): with a CUDA build of the wheel that demands a CUDA toolkit, which our users do not have.
find_package(Python COMPONENTS Interpreter Development.Module REQUIRED)
set(ANYMPS_MORE_TORCHES "" CACHE STRING "Folders of torch packages of other releases, to build libraries for, too")
set(ANYMPS_MORE_PYTHONS "" CACHE STRING "Interpreters of other versions of Python, to build modules for, too")
add_custom_target(anymps_for_wheels)

# Sets ANYMPS_TORCH_DIR, ANYMPS_TORCH_VERSION, ANYMPS_TORCH_COMMIT, ANYMPS_RELEASE (2.13), and ANYMPS_TORCH (torch2.13), by which its
# targets are called.
#
# pip builds a package in an environment that hides the user's packages by these variables, and PyTorch is one of them.
macro(anymps_find_torch package)
  execute_process(COMMAND ${CMAKE_COMMAND} -E env --unset=PYTHONPATH --unset=PYTHONNOUSERSITE ${Python_EXECUTABLE} ${PROJECT_SOURCE_DIR}/cmake/torch_facts.py ${package}
    OUTPUT_VARIABLE torch_facts ERROR_VARIABLE torch_error RESULT_VARIABLE torch_status)
  if(NOT torch_status EQUAL 0)
    string(STRIP "${torch_error}" torch_error)
    message(FATAL_ERROR "anymps is built against an installed PyTorch, and ${torch_error}: pip install torch")
  endif()
  list(GET torch_facts 0 ANYMPS_TORCH_DIR)
  list(GET torch_facts 1 ANYMPS_TORCH_VERSION)
  list(GET torch_facts 2 ANYMPS_TORCH_COMMIT)
  string(REGEX MATCH "^[0-9]+\\.[0-9]+" ANYMPS_RELEASE ${ANYMPS_TORCH_VERSION})
  set(ANYMPS_TORCH torch${ANYMPS_RELEASE})
  message(STATUS "PyTorch ${ANYMPS_TORCH_VERSION} at ${ANYMPS_TORCH_DIR}")
endmacro()

# What is installed lies in lib/torch2.13 of our package, and finds PyTorch's libraries beside that; an editable install
# lies elsewhere.
macro(anymps_add_torch package)
  anymps_find_torch("${package}")
  set(ANYMPS_TORCH_RPATH "$ORIGIN/../../../torch/lib;$ORIGIN/../../../torch.libs")
  if(ANYMPS_EDITABLE)
    list(APPEND ANYMPS_TORCH_RPATH "${ANYMPS_TORCH_DIR}/lib" "${ANYMPS_TORCH_DIR}.libs")
  endif()
  add_library(anymps_${ANYMPS_TORCH} INTERFACE)
  target_include_directories(anymps_${ANYMPS_TORCH} SYSTEM INTERFACE
    ${ANYMPS_TORCH_DIR}/include ${ANYMPS_TORCH_DIR}/include/torch/csrc/api/include)
  target_compile_definitions(anymps_${ANYMPS_TORCH} INTERFACE
    ANYMPS_TORCH_VERSION="${ANYMPS_TORCH_VERSION}"
    ANYMPS_TORCH_COMMIT="${ANYMPS_TORCH_COMMIT}")
  target_link_libraries(anymps_${ANYMPS_TORCH} INTERFACE
    ${ANYMPS_TORCH_DIR}/lib/libtorch.so ${ANYMPS_TORCH_DIR}/lib/libtorch_cpu.so ${ANYMPS_TORCH_DIR}/lib/libc10.so)
  # A build of PyTorch for CUDA needs libraries that are not there, and nothing of ours calls.
  target_link_options(anymps_${ANYMPS_TORCH} INTERFACE -Wl,--allow-shlib-undefined)
  add_subdirectory(src/backend ${ANYMPS_TORCH}/backend ${ARGN})
  add_subdirectory(src/superres ${ANYMPS_TORCH}/superres ${ARGN})
  add_subdirectory(src/cli/sr ${ANYMPS_TORCH}/sr ${ARGN})
endmacro()

anymps_add_torch("")
foreach(package ${ANYMPS_MORE_TORCHES})
  anymps_add_torch("${package}" EXCLUDE_FROM_ALL)
  add_dependencies(anymps_for_wheels anymps_backend_${ANYMPS_TORCH} anymps_python_${ANYMPS_TORCH}
    anymps_sr_${ANYMPS_TORCH})
endforeach()
