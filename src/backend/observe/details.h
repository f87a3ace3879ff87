// Every operator, while somebody wants to see them (gpu::trace::Trace's details).
#pragma once

#include <cstdint>
#include <string>

namespace anymps::backend::observe {

// Has the trace told of what the device does. Once, when the library is loaded.
void observe_routes();

// When an operator is looked at: at its call, so that it must run then, or whenever it runs.
enum class Watched : std::uint8_t { kAtItsCall, kWhenItRuns };

// From begin_details() until as many end_details(), the names of operators are known to the trace, and what runs on the
// device is recorded. False where nothing can be.
bool begin_details(Watched watched);
void end_details(Watched watched);

// The same until the process ends, with the host's side: every operator's call. Profilers see that themselves.
void trace_calls();

// What this thread calls now has another name on a Mac; to be said before its work begins. A literal.
void name_call(const char* name) noexcept;

// A Metal kernel has run since then.
void note_shader(const std::string& name, std::uint64_t threads, std::uint64_t began_ns) noexcept;

// A number for who asked for what this thread does next; 0 for nobody. The profiler nests them.
void push_correlation(std::uint64_t id);
void pop_correlation();

}  // namespace anymps::backend::observe
