// What a comparison comes to.
#pragma once

#include <string>
#include <vector>

#include "lab/runbook/document/figure.h"
#include "lab/runbook/parity/document.h"

namespace anymps::lab::runbook::parity {

// In one line; empty where there is nothing to say.
std::string parity_headline(const ParityDocument& document);

std::vector<document::Figure> parity_figures(const ParityDocument& document);

}  // namespace anymps::lab::runbook::parity
