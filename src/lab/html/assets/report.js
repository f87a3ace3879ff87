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
