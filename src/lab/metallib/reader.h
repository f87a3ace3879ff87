// Metal libraries, read in a child process: LLVM's bitcode reader is not made for hostile input, and a file that
// crashes it must end as a refusal, not as a crash of the program that was asked (docs/security.md).
#pragma once

#include <string>
#include <vector>

namespace anymps::lab::metallib {

// The first word by which this executable is started as that child; not a verb, and in no help.
inline constexpr const char* kMetalChild = "--metal-child";

struct MetalAnswer {
  bool answered = false;
  std::string text;      // the answer, or why there is none in one line
  std::string files{};   // the bytes that came behind the answer, for the caller to write
  bool refused = false;  // there is none because of the file; else because of this installation
  bool interrupted = false;
  bool of_compiler = false;  // the text is what the compiler said, over several lines
};

// Asks libanymps_metal.so (metal/tool/tool.h) in a child with bounds on its time and memory, which confines itself
// (gpu/support/confine.h) before it looks into what the files hold. The child's answer is not to be trusted more than
// these: what is written, and where, is for the caller to say. `request` is a verb, flags of the compiler, a file and
// what the verb needs.
MetalAnswer ask_metal(const std::vector<std::string>& request);

// The child's side: `arguments` are those after kMetalChild. Returns the status to end with.
int metal_child(const std::vector<std::string>& arguments);

}  // namespace anymps::lab::metallib
