// The form of a question, and its answer: asked by keyboard, kept in this window until it is asked, copied with one click.
import { say } from "./announce.js";

const KEPT = "helicase.question";

// Only in this window, only of this person, and gone when the question is asked or somebody logs out.
function keep(form) {
  const text = form.elements.namedItem("text");
  const key = `${KEPT}.${document.documentElement.dataset.person}`;
  try {
    if (!text.value) text.value = sessionStorage.getItem(key) || "";
    else sessionStorage.setItem(key, text.value);
    text.addEventListener("input", () => sessionStorage.setItem(key, text.value));
  } catch {
    return; // storage is blocked or full: the form works without
  }
  if (text.value) text.dispatchEvent(new Event("input", { bubbles: true }));
}

function forget() {
  try {
    for (const key of Object.keys(sessionStorage).filter((one) => one.startsWith(KEPT))) sessionStorage.removeItem(key);
  } catch {
    // nothing was kept
  }
}

// Whether the text was sent: only then is it forgotten, on the page of the question that came of it.
function sent(say) {
  try {
    if (say === "read") return sessionStorage.getItem(`${KEPT}.sent`) === "yes";
    sessionStorage.setItem(`${KEPT}.sent`, say);
  } catch {
    // nothing is kept either
  }
  return false;
}

function copy(event) {
  const button = event.target.closest("[data-copy]");
  if (!button) return;
  const text = document.getElementById(button.dataset.copy).textContent.replace(/\s/g, "");
  const refused = () => say("This browser does not let the page copy. Select the letters instead.");
  if (navigator.clipboard) navigator.clipboard.writeText(text).then(() => say("Copied."), refused);
  else refused();
}

export function startQuestion() {
  document.addEventListener("click", copy);
  document.querySelector("[data-log-out]")?.addEventListener("submit", forget);
  if (document.getElementById("question-live") && sent("read")) forget();
  const form = document.getElementById("question-form");
  if (!form) return;
  (document.getElementById("error-summary") || form.elements.namedItem("text")).focus();
  keep(form);
  form.elements.namedItem("text").addEventListener("input", () => document.getElementById("id_text_error").replaceChildren());
  sent("no");
  form.addEventListener("submit", () => sent("yes"));
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    form.requestSubmit(document.getElementById("ask"));
  });
}
