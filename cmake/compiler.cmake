# Warnings and sanitizers that every target of the project shares.
add_library(anymps_compiler INTERFACE)
target_compile_options(anymps_compiler INTERFACE -Wall -Wextra -Wno-unused-parameter -fvisibility-inlines-hidden)
# Where the processor has the instruction, GCC fuses a product into a sum unless told not to: the same seed would give
# other numbers on aarch64 than on x86-64.
target_compile_options(anymps_compiler INTERFACE -ffp-contract=off)
target_include_directories(anymps_compiler INTERFACE ${PROJECT_SOURCE_DIR}/src)
target_compile_definitions(anymps_compiler INTERFACE ANYMPS_VERSION="${PROJECT_VERSION}")

if(ANYMPS_SANITIZE)
  # Built to be run once: compiling takes longer than the tests do.
  target_compile_options(anymps_compiler INTERFACE -fsanitize=${ANYMPS_SANITIZE} -fno-omit-frame-pointer -O1 -g1)
  target_link_options(anymps_compiler INTERFACE -fsanitize=${ANYMPS_SANITIZE})
endif()
