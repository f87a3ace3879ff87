// The style and the script of the report.
#pragma once

#include <string>
#include <string_view>

namespace anymps::lab::runbook::report {

std::string_view report_style();

// Read-outs of the charts' points, by pointer and by keys, and tables that sort by click.
std::string_view report_script();

// Lets the page show itself and run that script, and nothing else: no network, no other script.
std::string report_policy();

}  // namespace anymps::lab::runbook::report
