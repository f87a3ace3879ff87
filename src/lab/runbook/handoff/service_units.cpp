#include "lab/runbook/handoff/service_units.h"

#include <fmt/format.h>

#include "lab/html/escape.h"

namespace anymps::lab::runbook::handoff {
namespace {

// A word of a unit file in double quotes: what C escapes is escaped, % begins a specifier, and in a command line $
// begins a variable.
std::string unit_word(const std::string& word, bool in_command) {
  std::string text = "\"";
  for (const char c : word) {
    if (c == '"' || c == '\\') {
      text += '\\';
      text += c;
    } else if (c == '\n') {
      text += "\\n";
    } else if (c == '\t') {
      text += "\\t";
    } else if (c == '%' || (c == '$' && in_command)) {
      text += c;
      text += c;
    } else {
      text += c;
    }
  }
  return text + "\"";
}

// A setting that is one value and takes no quotes.
std::string unit_value(const std::string& value) {
  std::string text;
  for (const char c : value) {
    if (c == '%') text += '%';
    text += c == '\n' || c == '\r' ? ' ' : c;
  }
  return text;
}

std::string plist_string(const std::string& text) { return "<string>" + html::escaped(text) + "</string>"; }

}  // namespace

std::string systemd_unit(const GoldenCommand& command) {
  std::string text = "# Written by anymps handoff pack. Folder and interpreter are those of the host that packed it.\n";
  text += fmt::format("[Unit]\nDescription={}, owned by {}\n\n[Service]\nType=exec\n", unit_value(command.label),
                      unit_value(command.owner));
  text += fmt::format("WorkingDirectory={}\n", unit_value(command.folder));
  for (const auto& [name, value] : command.variables) {
    text += fmt::format("Environment={}\n", unit_word(name + "=" + value, false));
  }
  text += "ExecStart=";
  for (std::size_t i = 0; i < command.words.size(); ++i) {
    text += (i == 0 ? "" : " ") + unit_word(command.words[i], true);
  }
  return text + "\n\n[Install]\nWantedBy=default.target\n";
}

std::string launchd_plist(const GoldenCommand& command) {
  std::string text = R"(<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
)";
  text += fmt::format("  <key>Label</key>\n  {}\n", plist_string("anymps.handoff." + command.label));
  text += "  <key>ProgramArguments</key>\n  <array>\n";
  for (const std::string& word : command.words) text += fmt::format("    {}\n", plist_string(word));
  text += fmt::format("  </array>\n  <key>WorkingDirectory</key>\n  {}\n", plist_string(command.folder));
  text += "  <key>EnvironmentVariables</key>\n  <dict>\n";
  for (const auto& [name, value] : command.variables) {
    text += fmt::format("    <key>{}</key>\n    {}\n", html::escaped(name), plist_string(value));
  }
  return text + "  </dict>\n  <key>RunAtLoad</key>\n  <false/>\n</dict>\n</plist>\n";
}

}  // namespace anymps::lab::runbook::handoff
