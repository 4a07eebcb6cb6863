// Single-key shortcuts: search, move, new order, help. They can be switched off (WCAG 2.1.4), and nothing is ever signed by key.
import { pick, take } from "./select.js";

const STORE = "helicase.keys";

const enabled = () => {
  try {
    return localStorage.getItem(STORE) !== "off";
  } catch {
    return true; // storage is blocked: shortcuts work, they cannot be switched off for good
  }
};

const typing = (target) => target.closest("input, select, textarea, [contenteditable], dialog[open]");

function move(step) {
  const links = [...document.querySelectorAll("[data-row-link]")];
  if (!links.length) return;
  const at = links.indexOf(document.activeElement);
  links[at < 0 ? 0 : Math.max(0, Math.min(links.length - 1, at + step))].focus();
}

const ACTIONS = {
  "/": () => document.getElementById("search")?.focus(),
  j: () => move(1),
  k: () => move(-1),
  x: () => pick(false),
  X: () => pick(true),
  t: () => take(),
  n: () => document.querySelector("[data-new-order]")?.click(),
  "?": () => document.getElementById("keys")?.showModal(),
};

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || typing(event.target)) return;
  const action = ACTIONS[event.key];
  if (!action || (!enabled() && event.key !== "?")) return;
  event.preventDefault();
  action();
}

export function startKeys() {
  document.addEventListener("keydown", onKey);
  const dialog = document.getElementById("keys");
  const box = document.getElementById("keys-on");
  if (!dialog || !box) return;
  box.checked = enabled();
  box.addEventListener("change", () => localStorage.setItem(STORE, box.checked ? "on" : "off"));
  document.querySelector("[data-show-keys]")?.addEventListener("click", () => dialog.showModal());
}
