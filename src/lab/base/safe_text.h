// Text of others, such as names, notes and messages, made safe for each kind of output.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>

namespace anymps::lab::base {

// For a terminal: no control character is left, in ASCII or in Unicode, but line breaks, tabs and the colours that
// Terminal::paint() writes. What was one is a question mark.
std::string for_terminal(std::string_view text);

// A name or message of others as one line, without colours.
std::string on_one_line(std::string_view text);

// Prints a screen, as for_terminal() leaves it.
void print_screen(std::FILE* stream, std::string_view screen);

// Prints what programs read, as it is: JSON writes control characters as numbers.
void print_text(std::FILE* stream, std::string_view text);

// For a cell of CSV: quoted where it must be, and never a formula, as which a spreadsheet takes what begins with =, +,
// - or @ and is no number.
std::string csv_cell(std::string_view text);

}  // namespace anymps::lab::base
