// A form that is sent once: the second click of a double click is not another request. Also where htmx has put the form.
export function startOnce() {
  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (!form.matches("form[data-once]")) return;
    if (form.dataset.sent) {
      event.preventDefault();
      return;
    }
    form.dataset.sent = "yes";
    event.submitter?.setAttribute("aria-disabled", "true");
  });
  window.addEventListener("pageshow", () => {
    for (const form of document.querySelectorAll("form[data-once]")) {
      delete form.dataset.sent;
      for (const button of form.querySelectorAll("[aria-disabled]")) button.removeAttribute("aria-disabled");
    }
  });
}
