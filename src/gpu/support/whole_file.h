// Files that are there whole or not at all, whatever happens meanwhile.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace anymps::gpu::support {

// Nothing where it cannot be read, to its end.
std::optional<std::string> read_whole(const std::filesystem::path& path);

// Written beside, brought to the disk, and then given its name; what was there before stays until then. What is no
// plain file, such as /dev/stdout or a pipe, is written to as it is. Throws std::runtime_error with the file's name.
void write_whole(const std::filesystem::path& path, std::string_view bytes);

// Why write_whole() could not write there, as far as that can be told without writing; empty where nothing speaks
// against it. For verbs that work for a while before they have something to write.
std::string why_not_written(const std::filesystem::path& path);

}  // namespace anymps::gpu::support
