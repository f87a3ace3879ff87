// The files that a program may include: our own headers, and those under the folders that the caller names. Nothing
// else on the disk can be seen, whatever an `#include` says.
#pragma once

#include <llvm/ADT/IntrusiveRefCntPtr.h>
#include <llvm/ADT/StringRef.h>
#include <llvm/Support/VirtualFileSystem.h>

#include <string>
#include <vector>

namespace anymps::metal::frontend::lex {

// Where our headers seem to lie.
inline constexpr char kHeaderFolder[] = "/metal";

struct ExtraFile {
  std::string path;
  llvm::StringRef contents;  // must outlive the file system
};

llvm::IntrusiveRefCntPtr<llvm::vfs::FileSystem> files_for(const std::vector<std::string>& folders,
                                                          const std::vector<ExtraFile>& extra);

// Changes with our headers.
std::string hash_of_headers();

}  // namespace anymps::metal::frontend::lex
