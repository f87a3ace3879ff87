#include "lab/html_page.h"

#include <fmt/format.h>

#include <algorithm>

#include "lab/markup.h"

namespace anymps::lab {
namespace {

constexpr const char* kPageStyle = R"css(
:root { color-scheme: light dark; --ink: #1c1e21; --dim: #5c666f; --paper: #ffffff; --track: #e9ecef; --line: #d5dade;
  --fits: #27794c; --close: #9a6400; --bad: #c8433a; --mark: #1c1e21; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e8ea; --dim: #9aa4ad; --paper: #15181b; --track: #2a2f34;
  --line: #3a4047; --fits: #4fb87f; --close: #e0a83a; --bad: #ec6f66; --mark: #e6e8ea; } }
body { margin: 2rem auto; max-width: 64rem; padding: 0 1rem; background: var(--paper); color: var(--ink);
  font: 15px/1.45 system-ui, sans-serif; }
h1 { font-size: 1.35rem; margin: 0 0 .25rem; } h2 { font-size: 1rem; margin: 2rem 0 .5rem; }
code { font: 13px/1.4 ui-monospace, monospace; overflow-wrap: anywhere; }
.cards { display: flex; flex-wrap: wrap; gap: .75rem; margin: 1.25rem 0; }
.card { border: 1px solid var(--line); border-radius: .5rem; padding: .6rem .9rem; min-width: 9rem; }
.card b { display: block; font-size: 1.25rem; } .card span, .dim { color: var(--dim); font-size: .85rem; }
.track { position: relative; height: .95rem; background: var(--track); border-radius: .2rem; overflow: hidden; }
.fill { height: 100%; } .fits .fill { background: var(--fits); } .close .fill { background: var(--close); }
.bad .fill { background: var(--bad); } .tick { position: absolute; top: 0; bottom: 0; width: 2px; background: var(--mark); }
li { margin: .3rem 0; max-width: 52rem; }
@media (max-width: 40rem) { body { margin-top: 1rem; } .card { flex: 1 1 8rem; min-width: 0; } .wide { display: none; } }
)css";

double clamped_percent(double share) { return 100 * std::clamp(share, 0.0, 1.0); }

}  // namespace

std::string page_head(std::string_view title, std::string_view style, std::string_view policy) {
  const std::string policy_tag =
      policy.empty() ? ""
                     : fmt::format("<meta http-equiv=\"Content-Security-Policy\" content=\"{}\">", escaped(policy));
  return fmt::format(
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">{}<meta name=\"viewport\" "
      "content=\"width=device-width, initial-scale=1\"><title>{}</title><style>{}{}</style></head><body>\n",
      policy_tag, escaped(title), kPageStyle, style);
}

std::string card(std::string_view value, std::string_view label) {
  return fmt::format("<div class=\"card\"><b>{}</b><span>{}</span></div>\n", escaped(value), escaped(label));
}

std::string bar(double share, double tick, std::string_view label) {
  return fmt::format(
      "<div class=\"track\" title=\"{0}\" role=\"img\" aria-label=\"{0}\"><div class=\"fill\" "
      "style=\"width:{1:.1f}%\"></div><div class=\"tick\" style=\"left:{2:.1f}%\"></div></div>",
      escaped(label), clamped_percent(share), clamped_percent(tick));
}

}  // namespace anymps::lab
