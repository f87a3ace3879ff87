#include "metal/frontend/lex/include_files.h"

#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/Path.h>
#include <llvm/Support/xxhash.h>

#include <utility>

#include "metal/frontend/lex/standard_headers.h"

namespace anymps::metal::frontend::lex {
namespace {

// The disk, of which only what lies in some folders is there. Links are followed before that is decided.
class FilesInFolders final : public llvm::vfs::ProxyFileSystem {
 public:
  explicit FilesInFolders(const std::vector<std::string>& folders)
      : ProxyFileSystem(llvm::vfs::createPhysicalFileSystem()) {
    for (const std::string& folder : folders) {
      llvm::SmallString<256> real;
      if (!getUnderlyingFS().getRealPath(folder, real)) folders_.emplace_back(real.str());
    }
  }

  llvm::ErrorOr<llvm::vfs::Status> status(const llvm::Twine& path) override {
    if (!allowed(path)) return std::make_error_code(std::errc::no_such_file_or_directory);
    return ProxyFileSystem::status(path);
  }
  llvm::ErrorOr<std::unique_ptr<llvm::vfs::File>> openFileForRead(const llvm::Twine& path) override {
    if (!allowed(path)) return std::make_error_code(std::errc::no_such_file_or_directory);
    return ProxyFileSystem::openFileForRead(path);
  }
  llvm::vfs::directory_iterator dir_begin(const llvm::Twine& /*folder*/, std::error_code& error) override {
    error = std::make_error_code(std::errc::permission_denied);
    return {};
  }

 private:
  bool allowed(const llvm::Twine& path) {
    llvm::SmallString<256> real;
    if (getUnderlyingFS().getRealPath(path, real)) return false;
    // A device or a pipe could be read for ever.
    const auto found = ProxyFileSystem::status(path);
    if (!found || (!found->isRegularFile() && !found->isDirectory())) return false;
    for (const std::string& folder : folders_) {
      llvm::StringRef rest = real;
      if (rest.consume_front(folder) && (rest.empty() || rest.starts_with("/") || folder == "/")) return true;
    }
    return false;
  }

  std::vector<std::string> folders_;
};

}  // namespace

llvm::IntrusiveRefCntPtr<llvm::vfs::FileSystem> files_for(const std::vector<std::string>& folders,
                                                          const std::vector<ExtraFile>& extra) {
  auto memory = llvm::makeIntrusiveRefCnt<llvm::vfs::InMemoryFileSystem>();
  const auto add = [&](const std::string& path, llvm::StringRef contents) {
    memory->addFile(path, 0, llvm::MemoryBuffer::getMemBuffer(contents, path, /*RequiresNullTerminator=*/false));
  };
  for (const StandardHeader& header : standard_headers()) {
    add(std::string(kHeaderFolder) + "/" + std::string(header.name), {header.text.data(), header.text.size()});
  }
  for (const ExtraFile& file : extra) add(file.path, file.contents);
  if (folders.empty()) return memory;
  auto both = llvm::makeIntrusiveRefCnt<llvm::vfs::OverlayFileSystem>(
      llvm::IntrusiveRefCntPtr<llvm::vfs::FileSystem>(new FilesInFolders(folders)));
  both->pushOverlay(memory);
  return both;
}

std::string hash_of_headers() {
  std::uint64_t hash = 0;
  for (const StandardHeader& header : standard_headers()) {
    hash = hash * 31 + llvm::xxh3_64bits(llvm::StringRef(header.text.data(), header.text.size()));
  }
  return std::to_string(hash);
}

}  // namespace anymps::metal::frontend::lex
