// What the verbs share that run the user's command and write down what came of it.
#pragma once

#include <string>

namespace anymps::lab::host {
struct ChildCommand;
struct ChildResult;
}  // namespace anymps::lab::host

namespace anymps::cli::options {

// Has the command leave its traces in `folder`, and insist on the device: a torch that goes on without it would answer
// another question than the user's.
void trace_into(lab::host::ChildCommand& command, const std::string& folder);

void say_not_started(const lab::host::ChildCommand& command, const lab::host::ChildResult& result);

// For an option that names a file, or none: found out before an hour of training, not after.
bool can_write(const char* option, const std::string& path);
// Does nothing where no file is named.
void write_text(const std::string& path, const std::string& text);

}  // namespace anymps::cli::options
