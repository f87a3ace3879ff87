// Probes for perf, bpftrace and SystemTap (USDT), where the system had their header when this was built: an instruction
// that does nothing until somebody attaches to it (docs/trace.md).
#pragma once

#if __has_include(<sys/sdt.h>)
#include <sys/sdt.h>
#define ANYMPS_PROBE(name, a, b, c) DTRACE_PROBE3(anymps, name, a, b, c)
#else
#define ANYMPS_PROBE(name, a, b, c) static_cast<void>(0)
#endif
