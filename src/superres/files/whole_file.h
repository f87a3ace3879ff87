// Files that are there whole or not at all, whatever happens meanwhile.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace anymps::superres {

// Nothing where it cannot be read, to its end.
std::optional<std::string> read_whole(const std::filesystem::path& path);

// Written beside, brought to the disk, and then given its name. Throws std::runtime_error with the file's name.
void write_whole(const std::filesystem::path& path, std::string_view bytes);

}  // namespace anymps::superres
