// A library for LD_PRELOAD that lets the Nth call of a kind fail, as a full or broken disk does. Only calls on files
// below one folder count, so that what a program loads and reads elsewhere does not. tests/faults/inject.py drives it.
//
//   ANYMPS_FAULT_FOLDER   the folder, as realpath() gives it
//   ANYMPS_FAULT_TALLY    a file of at least 4096 zeros, in which all processes count together and the failure is noted
//   ANYMPS_FAULT_CALL     write, read, open, close, rename, fsync, mmap, ftruncate, mkdir or chmod; all are counted
//   ANYMPS_FAULT_NTH      which one fails, from 1; 0: none
//   ANYMPS_FAULT_ERRNO    the number of the error
//   ANYMPS_FAULT_HOW      once; lasting: all that come after fail too, as on a disk that stays full; short: that write
//                         takes half of its bytes, and those after it fail
//
// It needs no more than the C library and is made ready before any other library, so that standard output is already
// one that it sees when others take hold of it: what stdio writes does not pass through write().
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

namespace {

enum class Call { kWrite, kRead, kOpen, kClose, kRename, kFsync, kMmap, kFtruncate, kMkdir, kChmod, kNone };
constexpr const char* kNames[] = {"write", "read", "open",      "close", "rename",
                                  "fsync", "mmap", "ftruncate", "mkdir", "chmod"};

// At the beginning of the tally's file.
struct Tally {
  uint64_t calls[static_cast<int>(Call::kNone)];
  uint64_t failed;
  char path[1024];  // of the first that failed
};

enum class How { kOnce, kLasting, kShort };

char folder[PATH_MAX];
size_t folder_length = 0;
Call chosen = Call::kNone;
uint64_t nth = 0;
int error_number = EIO;
How how = How::kOnce;
Tally* tally = nullptr;

template <typename Function>
Function* real(Function*& kept, const char* name) {
  if (kept == nullptr) kept = reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
  return kept;
}

// The next function of that name; it has the type of the function it stands in.
#define REAL(name)                           \
  ([]() {                                    \
    static decltype(&(name)) kept = nullptr; \
    return real(kept, #name);                \
  }())

// Of what the loader gives: getenv() knows nothing yet.
const char* variable(char** environment, const char* name) {
  const size_t length = strlen(name);
  for (; *environment != nullptr; ++environment) {
    if (strncmp(*environment, name, length) == 0 && (*environment)[length] == '=') return *environment + length + 1;
  }
  return "";
}

bool is_below(const char* path) {
  return folder_length > 0 && strncmp(path, folder, folder_length) == 0 && path[folder_length] == '/';
}

bool path_of(int file, char (&into)[PATH_MAX]) {
  char link[64];
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  const ssize_t length = readlink(link, into, sizeof into - 1);
  if (length <= 0) return false;
  into[length] = '\0';
  return true;
}

bool absolute(int base, const char* path, char (&into)[PATH_MAX]) {
  if (path == nullptr) return false;
  char front[PATH_MAX] = "";
  if (path[0] != '/') {
    if (base == AT_FDCWD ? getcwd(front, sizeof front) == nullptr : !path_of(base, front)) return false;
    strncat(front, "/", sizeof front - strlen(front) - 1);
  }
  const size_t room = sizeof into - 1;
  into[0] = '\0';
  strncat(into, front, room);
  strncat(into, path, room - strlen(into));
  return true;
}

enum class Fate { kPasses, kFails, kShort };

Fate fate_of(Call call, const char* path) {
  if (tally == nullptr || !is_below(path)) return Fate::kPasses;
  const uint64_t number = __atomic_add_fetch(&tally->calls[static_cast<int>(call)], 1, __ATOMIC_RELAXED);
  if (call != chosen || nth == 0 || number < nth || (number > nth && how == How::kOnce)) return Fate::kPasses;
  if (__atomic_fetch_add(&tally->failed, 1, __ATOMIC_RELAXED) == 0) {
    strncpy(tally->path, path + folder_length + 1, sizeof tally->path - 1);
  }
  return number == nth && how == How::kShort ? Fate::kShort : Fate::kFails;
}

bool fails_at(Call call, int base, const char* path) {
  char whole[PATH_MAX];
  if (tally == nullptr || !absolute(base, path, whole) || fate_of(call, whole) == Fate::kPasses) return false;
  errno = error_number;
  return true;
}

Fate fate_of_file(Call call, int file) {
  char path[PATH_MAX];
  if (tally == nullptr || !path_of(file, path)) return Fate::kPasses;
  const Fate fate = fate_of(call, path);
  if (fate == Fate::kFails) errno = error_number;
  return fate;
}

bool fails(Call call, int file) {
  const Fate fate = fate_of_file(call, file);
  if (fate == Fate::kShort) errno = error_number;
  return fate != Fate::kPasses;
}

// Streams of stdio by our own hands, as stdio calls the kernel by itself.
struct Stream {
  FILE* stream;
  int file;
};
constexpr size_t kMostStreams = 256;
Stream streams[kMostStreams];

ssize_t read_stream(void* cookie, char* into, size_t bytes) {
  return read(static_cast<Stream*>(cookie)->file, into, bytes);
}

ssize_t write_stream(void* cookie, const char* from, size_t bytes) {
  size_t done = 0;
  while (done < bytes) {
    const ssize_t written = write(static_cast<Stream*>(cookie)->file, from + done, bytes - done);
    if (written < 0) return done > 0 ? static_cast<ssize_t>(done) : 0;  // 0 is how a cookie says that it failed
    done += static_cast<size_t>(written);
  }
  return static_cast<ssize_t>(done);
}

int seek_stream(void* cookie, off64_t* offset, int from) {
  const off64_t place = lseek64(static_cast<Stream*>(cookie)->file, *offset, from);
  if (place < 0) return -1;
  *offset = place;
  return 0;
}

int close_stream(void* cookie) {
  auto* stream = static_cast<Stream*>(cookie);
  const int file = stream->file;
  __atomic_store_n(&stream->stream, nullptr, __ATOMIC_RELEASE);
  return close(file);
}

FILE* stream_of(int file, const char* mode) {
  for (Stream& place : streams) {
    FILE* none = nullptr;
    FILE* taken = reinterpret_cast<FILE*>(&place);
    if (!__atomic_compare_exchange_n(&place.stream, &none, taken, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) continue;
    place.file = file;
    place.stream = fopencookie(&place, mode, {read_stream, write_stream, seek_stream, close_stream});
    return place.stream;
  }
  errno = EMFILE;
  return nullptr;
}

int flags_of(const char* mode) {
  const bool both = strchr(mode, '+') != nullptr;
  int flags = strchr(mode, 'e') != nullptr ? O_CLOEXEC : 0;
  if (strchr(mode, 'x') != nullptr) flags |= O_EXCL;
  if (mode[0] == 'r') return flags | (both ? O_RDWR : O_RDONLY);
  return flags | O_CREAT | (both ? O_RDWR : O_WRONLY) | (mode[0] == 'a' ? O_APPEND : O_TRUNC);
}

FILE* open_stream(const char* path, const char* mode, FILE* (*otherwise)(const char*, const char*)) {
  char whole[PATH_MAX];
  if (tally == nullptr || !absolute(AT_FDCWD, path, whole) || !is_below(whole)) return otherwise(path, mode);
  const int file = open(path, flags_of(mode), 0666);
  if (file < 0) return nullptr;
  FILE* stream = stream_of(file, mode);
  if (stream == nullptr) close(file);
  return stream;
}

// Half of the bytes, at least one.
size_t half(size_t bytes) { return bytes > 1 ? bytes / 2 : bytes; }

__attribute__((constructor)) void make_ready(int, char**, char** given) {
  const char* counted = variable(given, "ANYMPS_FAULT_TALLY");
  if (*counted == '\0' || strlen(variable(given, "ANYMPS_FAULT_FOLDER")) >= sizeof folder) return;
  const int file = static_cast<int>(syscall(SYS_openat, AT_FDCWD, counted, O_RDWR | O_CLOEXEC));
  if (file < 0) return;
  void* mapped = REAL(mmap)(nullptr, sizeof(Tally), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  syscall(SYS_close, file);
  if (mapped == MAP_FAILED) return;
  strcpy(folder, variable(given, "ANYMPS_FAULT_FOLDER"));
  folder_length = strlen(folder);
  for (int i = 0; i < static_cast<int>(Call::kNone); ++i) {
    if (strcmp(variable(given, "ANYMPS_FAULT_CALL"), kNames[i]) == 0) chosen = static_cast<Call>(i);
  }
  nth = strtoull(variable(given, "ANYMPS_FAULT_NTH"), nullptr, 10);
  error_number = atoi(variable(given, "ANYMPS_FAULT_ERRNO"));
  if (strcmp(variable(given, "ANYMPS_FAULT_HOW"), "lasting") == 0) how = How::kLasting;
  if (strcmp(variable(given, "ANYMPS_FAULT_HOW"), "short") == 0) how = How::kShort;
  tally = static_cast<Tally*>(mapped);
  char path[PATH_MAX];
  if (path_of(STDOUT_FILENO, path) && is_below(path)) stdout = stream_of(STDOUT_FILENO, "w");
}

mode_t mode_in(int flags, va_list& more) {
  return (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE ? static_cast<mode_t>(va_arg(more, int)) : 0;
}

}  // namespace

extern "C" {

int open(const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const mode_t mode = mode_in(flags, more);
  va_end(more);
  return fails_at(Call::kOpen, AT_FDCWD, path) ? -1 : REAL(open)(path, flags, mode);
}

int open64(const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const mode_t mode = mode_in(flags, more);
  va_end(more);
  return fails_at(Call::kOpen, AT_FDCWD, path) ? -1 : REAL(open64)(path, flags, mode);
}

int openat(int base, const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const mode_t mode = mode_in(flags, more);
  va_end(more);
  return fails_at(Call::kOpen, base, path) ? -1 : REAL(openat)(base, path, flags, mode);
}

int openat64(int base, const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const mode_t mode = mode_in(flags, more);
  va_end(more);
  return fails_at(Call::kOpen, base, path) ? -1 : REAL(openat64)(base, path, flags, mode);
}

// What calls of open() with fewer arguments become where the compiler looks after them.
int __open_2(const char* path, int flags) { return open(path, flags); }
int __open64_2(const char* path, int flags) { return open64(path, flags); }

FILE* fopen(const char* path, const char* mode) { return open_stream(path, mode, REAL(fopen)); }
FILE* fopen64(const char* path, const char* mode) { return open_stream(path, mode, REAL(fopen64)); }

int fileno(FILE* stream) noexcept {
  for (const Stream& place : streams) {
    if (place.stream == stream && stream != nullptr) return place.file;
  }
  return REAL(fileno)(stream);
}

int mkstemp(char* pattern) { return fails_at(Call::kOpen, AT_FDCWD, pattern) ? -1 : REAL(mkstemp)(pattern); }
int mkstemp64(char* pattern) { return fails_at(Call::kOpen, AT_FDCWD, pattern) ? -1 : REAL(mkstemp64)(pattern); }
char* mkdtemp(char* pattern) noexcept {
  return fails_at(Call::kMkdir, AT_FDCWD, pattern) ? nullptr : REAL(mkdtemp)(pattern);
}
int mkdir(const char* path, mode_t mode) noexcept {
  return fails_at(Call::kMkdir, AT_FDCWD, path) ? -1 : REAL(mkdir)(path, mode);
}

int close(int file) {
  if (!fails(Call::kClose, file)) return REAL(close)(file);
  // As a file system over the network does: closed it is all the same.
  REAL(close)(file);
  errno = error_number;
  return -1;
}

ssize_t write(int file, const void* from, size_t bytes) {
  const Fate fate = fate_of_file(Call::kWrite, file);
  if (fate == Fate::kFails) return -1;
  return REAL(write)(file, from, fate == Fate::kShort ? half(bytes) : bytes);
}

ssize_t pwrite(int file, const void* from, size_t bytes, off_t at) {
  const Fate fate = fate_of_file(Call::kWrite, file);
  if (fate == Fate::kFails) return -1;
  return REAL(pwrite)(file, from, fate == Fate::kShort ? half(bytes) : bytes, at);
}

ssize_t pwrite64(int file, const void* from, size_t bytes, off64_t at) {
  const Fate fate = fate_of_file(Call::kWrite, file);
  if (fate == Fate::kFails) return -1;
  return REAL(pwrite64)(file, from, fate == Fate::kShort ? half(bytes) : bytes, at);
}

ssize_t writev(int file, const iovec* parts, int count) {
  const Fate fate = fate_of_file(Call::kWrite, file);
  if (fate == Fate::kFails) return -1;
  if (fate == Fate::kShort) return REAL(write)(file, parts[0].iov_base, half(parts[0].iov_len));
  return REAL(writev)(file, parts, count);
}

ssize_t pwritev(int file, const iovec* parts, int count, off_t at) {
  const Fate fate = fate_of_file(Call::kWrite, file);
  if (fate == Fate::kFails) return -1;
  if (fate == Fate::kShort) return REAL(pwrite)(file, parts[0].iov_base, half(parts[0].iov_len), at);
  return REAL(pwritev)(file, parts, count, at);
}

ssize_t pwritev64(int file, const iovec* parts, int count, off64_t at) {
  const Fate fate = fate_of_file(Call::kWrite, file);
  if (fate == Fate::kFails) return -1;
  if (fate == Fate::kShort) return REAL(pwrite64)(file, parts[0].iov_base, half(parts[0].iov_len), at);
  return REAL(pwritev64)(file, parts, count, at);
}

ssize_t read(int file, void* into, size_t bytes) {
  return fails(Call::kRead, file) ? -1 : REAL(read)(file, into, bytes);
}
ssize_t pread(int file, void* into, size_t bytes, off_t at) {
  return fails(Call::kRead, file) ? -1 : REAL(pread)(file, into, bytes, at);
}
ssize_t pread64(int file, void* into, size_t bytes, off64_t at) {
  return fails(Call::kRead, file) ? -1 : REAL(pread64)(file, into, bytes, at);
}
ssize_t __read_chk(int file, void* into, size_t bytes, size_t) { return read(file, into, bytes); }
ssize_t __pread_chk(int file, void* into, size_t bytes, off_t at, size_t) { return pread(file, into, bytes, at); }
ssize_t __pread64_chk(int file, void* into, size_t bytes, off64_t at, size_t) { return pread64(file, into, bytes, at); }

int fsync(int file) { return fails(Call::kFsync, file) ? -1 : REAL(fsync)(file); }
int fdatasync(int file) { return fails(Call::kFsync, file) ? -1 : REAL(fdatasync)(file); }

int ftruncate(int file, off_t bytes) noexcept {
  return fails(Call::kFtruncate, file) ? -1 : REAL(ftruncate)(file, bytes);
}
int ftruncate64(int file, off64_t bytes) noexcept {
  return fails(Call::kFtruncate, file) ? -1 : REAL(ftruncate64)(file, bytes);
}
int posix_fallocate(int file, off_t at, off_t bytes) {
  return fails(Call::kFtruncate, file) ? error_number : REAL(posix_fallocate)(file, at, bytes);
}
int posix_fallocate64(int file, off64_t at, off64_t bytes) {
  return fails(Call::kFtruncate, file) ? error_number : REAL(posix_fallocate64)(file, at, bytes);
}

int rename(const char* from, const char* to) noexcept {
  return fails_at(Call::kRename, AT_FDCWD, to) ? -1 : REAL(rename)(from, to);
}

int fchmod(int file, mode_t mode) noexcept { return fails(Call::kChmod, file) ? -1 : REAL(fchmod)(file, mode); }
int chmod(const char* path, mode_t mode) noexcept {
  return fails_at(Call::kChmod, AT_FDCWD, path) ? -1 : REAL(chmod)(path, mode);
}
int fchmodat(int base, const char* path, mode_t mode, int flags) noexcept {
  return fails_at(Call::kChmod, base, path) ? -1 : REAL(fchmodat)(base, path, mode, flags);
}

void* mmap(void* at, size_t bytes, int rights, int flags, int file, off_t offset) noexcept {
  if (file >= 0 && (flags & MAP_ANONYMOUS) == 0 && fails(Call::kMmap, file)) return MAP_FAILED;
  return REAL(mmap)(at, bytes, rights, flags, file, offset);
}
void* mmap64(void* at, size_t bytes, int rights, int flags, int file, off64_t offset) noexcept {
  if (file >= 0 && (flags & MAP_ANONYMOUS) == 0 && fails(Call::kMmap, file)) return MAP_FAILED;
  return REAL(mmap64)(at, bytes, rights, flags, file, offset);
}

}  // extern "C"
