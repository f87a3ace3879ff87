# Whether the packages are here that are built with, told in one sentence: CMake's own message names the first that is
# missing, as CMake calls it. Each by a file that it brings.
set(debian_packages
  libcli11-dev=CLI/CLI.hpp libfmt-dev=fmt/format.h libspdlog-dev=spdlog/spdlog.h nlohmann-json3-dev=nlohmann/json.hpp
  systemtap-sdt-dev=sys/sdt.h libsqlite3-dev=sqlite3.h libarchive-dev=archive.h libzstd-dev=zstd.h
  libacl1-dev=sys/acl.h liblmdb-dev=lmdb.h libpng-dev=png.h zlib1g-dev=zlib.h libturbojpeg0-dev=turbojpeg.h
  libwebp-dev=webp/encode.h)
if(ANYMPS_WITH_METAL)
  list(APPEND debian_packages llvm-19-dev=lib/llvm-19/include/llvm/IR/Module.h
    libclang-19-dev=lib/llvm-19/include/clang/AST/ASTContext.h libpolly-19-dev=lib/llvm-19/lib/libPolly.a)
endif()
set(missing_packages "")
foreach(package ${debian_packages})
  string(REPLACE "=" ";" package ${package})
  list(GET package 0 name)
  list(GET package 1 file)
  find_path(ANYMPS_HAS_${name} ${file} PATHS /usr)
  mark_as_advanced(ANYMPS_HAS_${name})
  if(NOT ANYMPS_HAS_${name})
    string(APPEND missing_packages " ${name}")
    unset(ANYMPS_HAS_${name} CACHE)
  endif()
endforeach()
if(missing_packages)
  message(FATAL_ERROR "anymps is built with packages that are not here: apt-get install${missing_packages}")
endif()
