for (const button of document.querySelectorAll(".filter button")) {
  button.addEventListener("click", () => {
    const wanted = button.dataset.severity;
    for (const other of document.querySelectorAll(".filter button"))
      other.setAttribute("aria-pressed", String(other === button));
    for (const rule of document.querySelectorAll(".rule"))
      rule.hidden = wanted !== "all" && rule.dataset.severity !== wanted;
  });
}
