// What a decision comes to.
#pragma once

#include <string>
#include <vector>

#include "lab/runbook/decide/document.h"
#include "lab/runbook/document/figure.h"

namespace anymps::lab::runbook::decide {

// In one line.
std::string decide_headline(const DecideDocument& document);

std::vector<document::Figure> decide_figures(const DecideDocument& document);

}  // namespace anymps::lab::runbook::decide
