// The sandbox's side: a process that makes pipelines and launches them for another one, and can do nothing else.
#pragma once

extern "C" {

// What the program of the sandbox (program.cpp) calls in libanymps_metal.so, as the process's only thread: confines the
// process, and answers requests (messages.h) until the other side is gone, which ends it. Returns the status to end
// with where it cannot begin; why is on standard error.
__attribute__((visibility("default"))) int anymps_metal_sandbox();
inline constexpr char kAnympsMetalSandbox[] = "anymps_metal_sandbox";
}
