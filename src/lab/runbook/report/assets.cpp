#include "lab/runbook/report_assets.h"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <span>

#include "gpu/sha256.h"

namespace anymps::lab {
namespace {

// As a Content-Security-Policy names a hash (RFC 4648).
std::string base64(std::span<const std::byte> bytes) {
  constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t group = 0;
    for (std::size_t j = i; j < i + 3; ++j) {
      group = group << 8 | (j < bytes.size() ? std::to_integer<std::uint32_t>(bytes[j]) : 0);
    }
    for (std::size_t j = 0; j < 4; ++j) {
      text += i + j <= bytes.size() ? kLetters[group >> (18 - 6 * j) & 63] : '=';
    }
  }
  return text;
}

}  // namespace

std::string_view report_style() {
  return R"css(
body { max-width: 80rem; margin: 1.5rem auto 4rem; overflow-wrap: break-word; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.3rem; margin: 0 0 .35rem; } h3 { font-size: 1rem; margin: 1.4rem 0 .4rem; }
h4 { font-size: .85rem; margin: .8rem 0 .2rem; color: var(--dim); }
section { border-top: 1px solid var(--line); margin-top: 2.5rem; padding-top: 1.5rem; }
section > .about { color: var(--dim); margin: 0 0 1rem; max-width: 52rem; }
p { max-width: 52rem; margin: .4rem 0; } .lead { font-size: 1.05rem; }
.badge { display: inline-block; border: 1px solid currentColor; border-radius: 1rem; padding: 0 .55rem; font-size: .8rem;
  font-weight: 600; overflow-wrap: anywhere; color: var(--dim); } td .badge { white-space: nowrap; } .badge.fits { color: var(--fits); }
.badge.close { color: var(--close); } .badge.bad { color: var(--bad); }
.beside { display: grid; gap: 1.5rem; } .beside > article { min-width: 0; }
.beside > article > header { display: flex; flex-wrap: wrap; align-items: center; gap: .3rem .6rem; }
.beside > article > header > * { min-width: 0; max-width: 100%; overflow-wrap: anywhere; }
.beside > article > header h3 { margin: 0; } .beside > article > header code { flex-basis: 100%; color: var(--dim); }
.beside.of2 > article, .beside.of3 > article { border: 1px solid var(--line); border-radius: .6rem; padding: 1rem; }
@media (min-width: 60rem) { .beside.of2 { grid-template-columns: 1fr 1fr; }
  .beside.of3 { grid-template-columns: repeat(auto-fit, minmax(24rem, 1fr)); } }
.charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 26rem), 1fr)); gap: .5rem 2rem;
  align-items: start; }
.scroll { overflow-x: auto; margin: .5rem 0 1rem; background: linear-gradient(to right, var(--paper) 1.5rem, transparent),
  linear-gradient(to left, var(--paper) 1.5rem, transparent) right, linear-gradient(to right, var(--line), transparent .8rem),
  linear-gradient(to left, var(--line), transparent .8rem) right; background-attachment: local, local, scroll, scroll;
  background-repeat: no-repeat; background-size: 2rem 100%, 2rem 100%, .8rem 100%, .8rem 100%; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; font-size: .9rem; }
th { text-align: left; font-weight: 600; color: var(--dim); font-size: .8rem; padding: .3rem .5rem; white-space: nowrap;
  vertical-align: bottom; } td { padding: .3rem .5rem; border-top: 1px solid var(--line); vertical-align: top; }
td code { overflow-wrap: anywhere; min-width: 6rem; display: inline-block; max-width: 32rem; }
td.n, th.n { text-align: right; white-space: nowrap; } tbody tr:hover { background: var(--track); }
th button { font: inherit; color: inherit; background: none; border: 0; padding: 0; cursor: pointer; text-align: inherit; }
th button::after { content: " ↕"; opacity: .45; } th[aria-sort=ascending] button::after { content: " ↑"; opacity: 1; }
th[aria-sort=descending] button::after { content: " ↓"; opacity: 1; } th[aria-sort] { color: var(--ink); }
.cards { margin: .9rem 0; } .card { min-width: min(7rem, 100%); max-width: 18rem; box-sizing: border-box; overflow-wrap: anywhere; } .card span { display: block; line-height: 1.3; }
.overview { margin: 1.2rem 0 0; } .overview a { color: inherit; font-weight: 600; }
@media (max-width: 40rem) { .overview thead { display: none; } .overview table, .overview tbody { display: block; }
  .overview tr { display: flex; flex-wrap: wrap; gap: .1rem .6rem; border-top: 1px solid var(--line); padding: .4rem 0; }
  .overview td { border: 0; padding: 0; min-width: 0; overflow-wrap: anywhere; } .overview td:last-child { flex-basis: 100%; } }
.publish { border: 1px solid var(--line); border-left: .35rem solid var(--close); border-radius: .5rem;
  padding: .7rem 1rem; margin: 1rem 0; } .publish.yes { border-left-color: var(--fits); }
.publish > b { display: block; } .publish ul { list-style: none; margin: .5rem 0 0; padding: 0; display: grid;
  grid-template-columns: repeat(auto-fit, minmax(min(100%, 17rem), 1fr)); gap: .6rem 1.5rem; }
.publish li { margin: 0; min-width: 0; } .publish li > .dim { display: block; margin-top: .2rem; } .publish li code { display: block; }
.decision { border: 1px solid var(--line); border-left: .35rem solid var(--s0); border-radius: .5rem; padding: .8rem 1.1rem;
  margin: .8rem 0; } .decision strong { display: block; font-size: 1.5rem; line-height: 1.25; }
details { margin: .8rem 0; } summary { cursor: pointer; color: var(--dim); }
.readout { position: absolute; z-index: 1; pointer-events: none; max-width: 100%; box-sizing: border-box;
  background: var(--ink); color: var(--paper); border-radius: .35rem; padding: .2rem .55rem; font-size: .85rem; }
.point.current { stroke: var(--ink) !important; stroke-width: 2.5 !important; }
:focus-visible { outline: 2px solid var(--s0); outline-offset: 2px; }
[hidden] { display: none; }
@media print { body { max-width: none; margin: 0; } .scroll { overflow: visible; } section { break-before: auto; } }
)css";
}

std::string_view report_script() {
  return R"js(
"use strict";
for (const table of document.querySelectorAll("table.sorts")) {
  const body = table.tBodies[0];
  const heads = [...table.tHead.rows[0].cells];
  if (body.rows.length < 2) continue;
  heads.forEach((head, column) => {
    if (!head.textContent) return;
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = head.textContent;
    head.replaceChildren(button);
    const value = row => {
      const cell = row.cells[column];
      return cell.dataset.value === undefined ? cell.textContent.trim() : Number(cell.dataset.value);
    };
    button.addEventListener("click", () => {
      const before = head.getAttribute("aria-sort");
      const falls = before ? before === "ascending" : head.classList.contains("n");
      const order = (left, right) => {
        const [a, b] = [value(left), value(right)];
        // Numbers come before words and gaps, whichever way.
        if (typeof a !== typeof b) return typeof a === "number" ? -1 : 1;
        const rises = typeof a === "number" ? a - b : a.localeCompare(b, undefined, {numeric: true});
        return falls ? -rises : rises;
      };
      body.append(...[...body.rows].sort(order));
      for (const other of heads) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", falls ? "descending" : "ascending");
    });
  });
}
for (const figure of document.querySelectorAll("figure.chart")) {
  const svg = figure.querySelector(":scope > svg");
  const x = point => Number(point.dataset.x);
  const y = point => Number(point.dataset.y);
  const points = [...svg.querySelectorAll(".point")].sort((a, b) => x(a) - x(b) || y(a) - y(b));
  if (!points.length) continue;
  for (const point of points) point.querySelector("title").remove();  // the read-out says the same
  const note = document.createElement("output");
  note.className = "readout";
  note.hidden = true;
  figure.append(note);
  let current = -1;
  const show = index => {
    if (points[current]) points[current].classList.remove("current");
    current = index;
    const point = points[index];
    note.hidden = !point;
    if (!point) return;
    point.classList.add("current");
    note.textContent = point.dataset.text;
    const [around, inside] = [figure.getBoundingClientRect(), svg.getBoundingClientRect()];
    const scale = inside.width / svg.viewBox.baseVal.width;
    const left = inside.left - around.left + x(point) * scale - note.offsetWidth / 2;
    const top = inside.top - around.top + y(point) * scale - note.offsetHeight - 12;
    note.style.left = `${Math.max(0, Math.min(left, around.width - note.offsetWidth))}px`;
    note.style.top = `${Math.max(0, top)}px`;
  };
  const nearest = event => {
    const inside = svg.getBoundingClientRect();
    const scale = svg.viewBox.baseVal.width / inside.width;
    const [atX, atY] = [(event.clientX - inside.left) * scale, (event.clientY - inside.top) * scale];
    const distances = points.map(point => Math.hypot(x(point) - atX, y(point) - atY));
    show(distances.indexOf(Math.min(...distances)));
  };
  svg.setAttribute("tabindex", "0");
  svg.addEventListener("pointermove", nearest);
  svg.addEventListener("pointerdown", nearest);
  svg.addEventListener("pointerleave", () => show(-1));
  svg.addEventListener("blur", () => show(-1));
  svg.addEventListener("keydown", event => {
    const last = points.length - 1;
    const wanted = {ArrowRight: Math.min(current + 1, last), ArrowLeft: Math.max(current - 1, 0), Home: 0, End: last,
      Escape: -1}[event.key];
    if (wanted === undefined) return;
    event.preventDefault();
    show(wanted);
  });
}
)js";
}

std::string report_policy() {
  const std::string_view script = report_script();
  gpu::Sha256 hash;
  hash.update(std::as_bytes(std::span(script)));
  return fmt::format("default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src 'sha256-{}'",
                     base64(hash.finish()));
}

}  // namespace anymps::lab
