// The version, which the build takes from the project; the default is for a file compiled by hand.
#pragma once

#ifndef ANYMPS_VERSION
#define ANYMPS_VERSION "0.0.0+unknown"
#endif
