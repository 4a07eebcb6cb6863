// A menu closes when somebody looks elsewhere: a click beside it, focus that leaves it, or Escape, which gives the focus back.
export function startMenus() {
  for (const menu of document.querySelectorAll("details[data-menu]")) {
    document.addEventListener("click", (event) => {
      if (!menu.contains(event.target)) menu.open = false;
    });
    menu.addEventListener("focusout", (event) => {
      if (event.relatedTarget && !menu.contains(event.relatedTarget)) menu.open = false;
    });
    menu.addEventListener("keydown", (event) => {
      if (event.key !== "Escape" || !menu.open) return;
      menu.open = false;
      menu.querySelector("summary").focus();
    });
  }
}
