// What a plateau test comes to.
#pragma once

#include <string>
#include <vector>

#include "lab/runbook/document/figure.h"
#include "lab/runbook/plateau/document.h"

namespace anymps::lab::runbook::plateau {

// In one line; empty where nothing was measured.
std::string plateau_headline(const PlateauDocument& document);

std::vector<document::Figure> plateau_figures(const PlateauDocument& document);

}  // namespace anymps::lab::runbook::plateau
