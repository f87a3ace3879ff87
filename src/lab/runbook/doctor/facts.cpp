#include "lab/runbook/doctor/facts.h"

#include <sys/resource.h>

#include <stdexcept>

namespace anymps::lab::runbook::doctor {
namespace {

constexpr const char* kDoctorQuestions =
#include "doctor_questions.inc"
    ;

std::optional<std::uint64_t> descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return std::nullopt;
  return limit.rlim_cur;
}

}  // namespace

DoctorFacts DoctorFacts::gather(const host::ChildCommand& python) {
  const host::Platform& platform = host::Platform::here();
  DoctorFacts facts;
  facts.machine = host::Machine::here();
#ifdef __APPLE__
  facts.on_mac = true;
#endif
  facts.hardware = platform.hardware_architecture();
  facts.translated = platform.translated();
  facts.container = platform.container();
  facts.power = platform.power();
  facts.thermal = platform.thermal();
  facts.swap = platform.swap();
  facts.load = platform.load();
  facts.memory_free = platform.memory_free();
  facts.descriptors = descriptor_limit();
  facts.caches = host::cache_mounts();
  facts.variables = host::telling_variables();
  facts.python = host::ask_python(python, std::string(kDoctorQuestions) + "\nexamine(facts)\n");
  if (facts.python.contains("not_started")) throw std::runtime_error(facts.python["error"].get<std::string>());
  return facts;
}

}  // namespace anymps::lab::runbook::doctor
