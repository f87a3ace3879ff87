#include "gpu/support/code_version.h"

#include <dlfcn.h>
#include <sys/stat.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>

#ifdef __linux__
#include <elf.h>
#include <link.h>
#endif

namespace anymps::gpu::support {
namespace {

#ifdef __linux__
struct Search {
  std::uintptr_t address;
  std::string build_id;
};

std::string hex(const unsigned char* bytes, std::size_t count) {
  std::string text;
  char digits[3];
  for (std::size_t i = 0; i < count; ++i) {
    std::snprintf(digits, sizeof digits, "%02x", bytes[i]);
    text += digits;
  }
  return text;
}

// Notes are a header, a name and a description, each padded to four bytes.
std::string build_id_in(const unsigned char* notes, std::size_t bytes) {
  const auto padded = [](std::size_t length) { return (length + 3) & ~std::size_t{3}; };
  while (bytes >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) note;
    std::memcpy(&note, notes, sizeof note);
    const std::size_t name = sizeof note;
    const std::size_t description = name + padded(note.n_namesz);
    const std::size_t next = description + padded(note.n_descsz);
    if (next > bytes) return {};
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && std::memcmp(notes + name, "GNU", 4) == 0) {
      return hex(notes + description, note.n_descsz);
    }
    notes += next;
    bytes -= next;
  }
  return {};
}

int look_into(dl_phdr_info* info, std::size_t, void* data) {
  auto& search = *static_cast<Search*>(data);
  const auto start_of = [&](const ElfW(Phdr) & part) { return info->dlpi_addr + part.p_vaddr; };
  bool here = false;
  for (ElfW(Half) i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = info->dlpi_phdr[i];
    here = here || (part.p_type == PT_LOAD && search.address - start_of(part) < part.p_memsz);
  }
  if (!here) return 0;
  for (ElfW(Half) i = 0; i < info->dlpi_phnum && search.build_id.empty(); ++i) {
    const ElfW(Phdr)& part = info->dlpi_phdr[i];
    if (part.p_type != PT_NOTE) continue;
    search.build_id = build_id_in(reinterpret_cast<const unsigned char*>(start_of(part)), part.p_memsz);
  }
  return 1;
}

std::string build_id(const void* address) {
  Search search{reinterpret_cast<std::uintptr_t>(address), {}};
  ::dl_iterate_phdr(look_into, &search);
  return search.build_id;
}
#else
std::string build_id(const void*) { return {}; }
#endif

std::string file_facts(const void* address) {
  Dl_info info;
  if (::dladdr(address, &info) == 0 || info.dli_fname == nullptr) return "unknown";
  struct stat facts;
  if (::stat(info.dli_fname, &facts) != 0) return info.dli_fname;
  return std::string(info.dli_fname) + ":" + std::to_string(facts.st_size) + ":" + std::to_string(facts.st_mtime);
}

}  // namespace

std::string version_of_code(const void* address) {
  const std::string id = build_id(address);
  return std::string(ANYMPS_VERSION) + "+" + (id.empty() ? file_facts(address) : id);
}

}  // namespace anymps::gpu::support
