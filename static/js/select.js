// Choosing several orders of the worklist, by mouse or key. The list is re-read under the hands: what was chosen stays chosen, and
// what somebody else changed meanwhile is chosen as it stands now.
import { say } from "./announce.js";

const chosen = new Set();
let last = null; // the box that was ticked before, from which shift takes a range

const boxes = () => [...document.querySelectorAll("[data-pick]:not(:disabled)")];
const rowOf = (target) => target.closest?.("[data-order]");

function keep(box) {
  if (box.checked) chosen.add(box.dataset.pick);
  else chosen.delete(box.dataset.pick);
}

function tell() {
  const count = document.getElementById("act-count");
  if (count) count.textContent = chosen.size ? `${chosen.size} chosen` : "";
}

function tick(box, on, range) {
  const all = boxes();
  const from = range && last ? all.findIndex((one) => one.dataset.pick === last) : -1;
  const at = all.indexOf(box);
  const some = from < 0 ? [box] : all.slice(Math.min(from, at), Math.max(from, at) + 1);
  for (const one of some) {
    one.checked = on;
    keep(one);
  }
  last = box.dataset.pick;
  tell();
}

// x ticks the row that has the focus; X everything from the row ticked before.
export function pick(range) {
  const box = rowOf(document.activeElement)?.querySelector("[data-pick]:not(:disabled)");
  if (box) tick(box, range || !box.checked, range);
}

export function take() {
  rowOf(document.activeElement)?.querySelector(".take")?.click();
}

function tickAll(on) {
  for (const box of boxes()) {
    box.checked = on;
    keep(box);
  }
  if (!on) chosen.clear();
  const whole = document.getElementById("act-all");
  if (whole && !on) whole.checked = false;
  tell();
  say(on ? `${chosen.size} orders chosen.` : "No order is chosen.");
}

function again() {
  const here = new Set();
  for (const box of document.querySelectorAll("[data-pick]")) {
    here.add(box.dataset.pick);
    box.checked = chosen.has(box.dataset.pick) && !box.disabled;
  }
  const gone = [...chosen].filter((one) => !here.has(one));
  for (const one of gone) chosen.delete(one);
  if (gone.length) say(`${gone.length} of the chosen orders left this list.`);
  tell();
}

export function startSelect() {
  if (!document.getElementById("act")) return;
  document.addEventListener("click", (event) => {
    if (event.target.matches("[data-pick]")) tick(event.target, event.target.checked, event.shiftKey);
    if (event.target.matches("[data-pick-page]")) tickAll(true);
    if (event.target.matches("[data-pick-none]")) tickAll(false);
  });
  document.addEventListener("htmx:afterSwap", again);
  boxes().forEach(keep); // the browser restores ticks with the back button
  tell();
}
