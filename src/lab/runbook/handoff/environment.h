// The environment that a command runs in: interpreter, packages, variables, platform and caches, as one document that
// can be held against another host's.
#pragma once

#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace anymps::lab::runbook::handoff {

// The program that asks an interpreter about itself, its packages and its host; it prints one document (see
// environment_from). It needs nothing but Python's own library, imports no torch, and runs on other hosts too.
std::string_view environment_question();

// Of what that program printed:
// {"python":{"version","implementation","executable","prefix"},
//  "packages":[{"name","version","record_sha256","archive_sha256","editable"}],
//  "torch":{"version","cuda","hip","git"}|null, "platform":{"system","release","machine","cpu","cores","memory_bytes"},
//  "variables":{..}, "withheld":[names], "caches":[{"name","path","exists","mount","entries"}], "load"}
// Throws std::runtime_error that says what `who` answered where it is none.
nlohmann::json environment_from(const std::string& answer, const std::string& who);

// Of this host, with that interpreter.
nlohmann::json environment_here(const std::string& python);

}  // namespace anymps::lab::runbook::handoff
