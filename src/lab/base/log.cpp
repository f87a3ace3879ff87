#include "lab/base/log.h"

#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_sinks.h>

#include <memory>
#include <string>

#include "lab/base/safe_text.h"

namespace anymps::lab::base {
namespace {

// "anymps: text" for news; "anymps: error: text" where the reader has to act.
class LineFormatter : public spdlog::formatter {
 public:
  void format(const spdlog::details::log_msg& message, spdlog::memory_buf_t& into) override {
    into.append(std::string_view("anymps: "));
    if (message.level == spdlog::level::warn) into.append(std::string_view("warning: "));
    if (message.level >= spdlog::level::err) into.append(std::string_view("error: "));
    into.append(for_terminal(std::string_view(message.payload.data(), message.payload.size())));
    into.push_back('\n');
  }
  std::unique_ptr<spdlog::formatter> clone() const override { return std::make_unique<LineFormatter>(); }
};

}  // namespace

spdlog::logger& log() {
  static spdlog::logger logger = [] {
    auto sink = std::make_shared<spdlog::sinks::stderr_sink_mt>();
    sink->set_formatter(std::make_unique<LineFormatter>());
    return spdlog::logger("anymps", std::move(sink));
  }();
  return logger;
}

}  // namespace anymps::lab::base
