// The pages of an LMDB file, looked through before LMDB follows them: it takes what is in a file for what it wrote
// itself, and a damaged or forged one would have it read and write anywhere, or end the program.
#pragma once

#include <cstdint>
#include <filesystem>
#include <stdexcept>

namespace anymps::superres::files {

// What is wrong, without the file's name.
struct PagesError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// The two pages that a file begins with. To be called before LMDB opens it; a file of no bytes is a new one.
void check_first_pages(const std::filesystem::path& path);

// All pages of a state of the database, by the number of its transaction, which a reader holds meanwhile: so that no
// writer gives its pages away. Of large values the beginnings are left alone, which only `for_writing` needs. Returns
// whether the state was found: a writer may have gone on since.
bool check_pages(const std::filesystem::path& path, std::uint64_t transaction, bool for_writing);

}  // namespace anymps::superres::files
