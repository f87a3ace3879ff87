// What a profile comes to.
#pragma once

#include <string>
#include <vector>

#include "lab/runbook/document/figure.h"
#include "lab/runbook/profile/document.h"

namespace anymps::lab::runbook::profile {

// In one line; empty where there is nothing to say.
std::string profile_headline(const ProfileDocument& document);

std::vector<document::Figure> profile_figures(const ProfileDocument& document);

}  // namespace anymps::lab::runbook::profile
