// The sandbox from outside: a child process that compiles kernels and runs them, confined (gpu/support/confine.h), and
// memory that is shared with it.
//
// The child is started when it is first needed, and again when it has ended. It ends with this process, and is this
// process's own: one that was forked starts another.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "gpu/support/fork_generation.h"
#include "metal/sandbox/messages.h"

namespace anymps::metal::sandbox {

// Where the program of the sandbox and libanymps_metal.so lie. To be told by those that have this code linked in; else
// it is the folder of libanymps_metal.so.
void set_box_folder(std::filesystem::path folder);

class Box {
 public:
  // What a request is about, for the texts of errors.
  struct Errand {
    const std::string& kernel;
    const char* doing;  // "ran"
    std::chrono::seconds most;
    const char* variable;  // that says how long; empty where none does
  };

  static Box& of_process();

  // Whoever calls a function below holds it, except for drop().
  [[nodiscard]] std::unique_lock<std::mutex> lock() { return std::unique_lock(mutex_); }

  // Makes sure that there is a child. Its number: another one each time that it was started. Throws
  // pipeline::KernelError.
  std::uint64_t start(const std::string& kernel);

  // What is shared, of at least that size. What was there is there no longer where it had to grow.
  std::span<std::byte> memory(std::size_t bytes, const std::string& kernel);

  // Throws pipeline::KernelError with what the child refuses, or where it ended or took too long.
  Answer ask(Request request, const Errand& errand);

  // The pipeline of that child is no longer needed.
  void drop(std::uint64_t child, std::uint64_t pipeline);

  const std::uint32_t generation = gpu::support::fork_generation();

 private:
  bool has_ended();
  void spawn(const std::string& kernel);
  // Ends and forgets the child: how it ended, as waitpid() tells, or -1.
  int end();
  std::string how_it_ended(int status);
  std::string last_words();

  std::mutex mutex_;
  pid_t child_ = -1;
  std::byte* memory_ = nullptr;
  std::size_t memory_bytes_ = 0;

  std::mutex dropped_mutex_;            // for what follows; who changes it holds the other one, too
  std::uint64_t number_ = 0;            // of the child; 0: there is none
  std::vector<std::uint64_t> dropped_;  // its pipelines
};

}  // namespace anymps::metal::sandbox
