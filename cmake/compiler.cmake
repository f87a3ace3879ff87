# Warnings, sanitizers and ways to compile that the targets of the project share.
add_library(anymps_compiler INTERFACE)
target_compile_options(anymps_compiler INTERFACE -Wall -Wextra -Wno-unused-parameter -fvisibility-inlines-hidden)
# Where the processor has the instruction, GCC fuses a product into a sum unless told not to: the same seed would give
# other numbers on aarch64 than on x86-64.
target_compile_options(anymps_compiler INTERFACE -ffp-contract=off)
target_include_directories(anymps_compiler INTERFACE ${PROJECT_SOURCE_DIR}/src)
target_compile_definitions(anymps_compiler INTERFACE ANYMPS_VERSION="${PROJECT_VERSION}")

if(ANYMPS_SANITIZE)
  target_compile_options(anymps_compiler INTERFACE -fsanitize=${ANYMPS_SANITIZE} -fno-omit-frame-pointer)
  target_link_options(anymps_compiler INTERFACE -fsanitize=${ANYMPS_SANITIZE})
  if(ANYMPS_BUILD_FUZZ)
    # Clang's checks of integers of 128 bits call what libgcc does not have.
    target_link_options(anymps_compiler INTERFACE -rtlib=compiler-rt -unwindlib=libgcc)
  endif()
endif()

# Links that take seconds with GNU's linker take tenths with this one. macOS has a linker of its own.
find_program(ANYMPS_MOLD mold)
if(ANYMPS_MOLD AND NOT APPLE)
  add_link_options(-fuse-ld=mold)
endif()

# anymps_compile(TARGET [FILES_AT_ONCE n] [PRECOMPILE header...] [QUICKLY])
# How the sources of a target are compiled. FILES_AT_ONCE: so many of them make one unit of a unity build; without it, all
# of them. PRECOMPILE: what is precompiled where there are enough units; reading headers once for all costs as much as
# reading them for two units or three. QUICKLY: -O1, for code that nobody waits for. With sanitizers a level less, as their
# tests run once: -O0 takes half as long to compile.
function(anymps_compile target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "QUICKLY" "FILES_AT_ONCE" "PRECOMPILE")
  if(ANYMPS_SANITIZE AND arg_QUICKLY AND NOT ANYMPS_BUILD_FUZZ)
    target_compile_options(${target} PRIVATE -O0)
  elseif(ANYMPS_SANITIZE OR (arg_QUICKLY AND NOT CMAKE_BUILD_TYPE STREQUAL Debug))
    target_compile_options(${target} PRIVATE -O1)
  endif()
  get_target_property(sources ${target} SOURCES)
  list(LENGTH sources units)
  if(ANYMPS_UNITY)
    if(NOT arg_FILES_AT_ONCE)
      set(arg_FILES_AT_ONCE ${units})
    endif()
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${arg_FILES_AT_ONCE})
    math(EXPR units "(${units} + ${arg_FILES_AT_ONCE} - 1) / ${arg_FILES_AT_ONCE}")
  endif()
  if(arg_PRECOMPILE AND units GREATER 3)
    target_precompile_headers(${target} PRIVATE ${arg_PRECOMPILE})
  endif()
endfunction()
