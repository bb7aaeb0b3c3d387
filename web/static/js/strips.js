// The bars of a strip say what they stand for when they are tapped, as they do on hover.
document.addEventListener("click", (e) => {
  const bar = e.target.closest("[data-strip] > i");
  const strip = bar?.parentElement;
  if (!strip) return;
  let note = strip.nextElementSibling;
  if (!note?.matches(".strip-note")) {
    note = document.createElement("p");
    note.className = "strip-note";
    note.setAttribute("role", "status");
    strip.after(note);
  }
  note.textContent = bar.title;
});
