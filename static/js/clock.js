// Time left, in words. The server sends the due time and its own clock: a browser with a wrong clock shows the right words.
import { say } from "./announce.js";

const root = document.documentElement;
const zone = root.dataset.zone || "UTC";
let offset = 0; // server time − browser time, in ms

export const now = () => Date.now() + offset;

export function timeOfDay(moment = now()) {
  return new Intl.DateTimeFormat("en-GB", { timeZone: zone, hour: "2-digit", minute: "2-digit", second: "2-digit" }).format(moment);
}

export function setServerTime(iso) {
  if (iso) offset = Date.parse(iso) - Date.now();
}

// The same words as dashboard/wording.py; tests/browser compares the two.
export function timeLeft(ms) {
  const over = ms < 0;
  const seconds = Math.floor(Math.abs(ms) / 1000);
  const minutes = Math.floor(seconds / 60);
  const hours = Math.floor(minutes / 60);
  const tail = over ? "over" : "left";
  if (seconds < 60) return `${seconds} s ${tail}`;
  if (minutes < 5 && !over) return `${minutes} min ${seconds % 60} s ${tail}`;
  if (minutes < 60) return `${minutes} min ${tail}`;
  if (hours < 10) return `${hours} h ${minutes % 60} min ${tail}`;
  if (hours < 48) return `${hours} h ${tail}`;
  return `${Math.floor(hours / 24)} days ${tail}`;
}

const THRESHOLDS = [
  [1, "is over its time"],
  [0.8, "has used 80 % of its time"],
  [0.5, "has used half of its time"],
];
const announced = new Map(); // order → highest threshold said or already passed when the page was opened

function announce(timer, share, words) {
  const passed = THRESHOLDS.find(([limit]) => share >= limit);
  const label = timer.dataset.label;
  const level = passed ? passed[0] : 0;
  const known = announced.get(label);
  announced.set(label, level);
  if (known !== undefined && level > known) say(`${label} ${passed[1]}: ${words}.`);
}

function tick(everySecond) {
  for (const timer of document.querySelectorAll("[role=timer][data-due]")) {
    const left = Date.parse(timer.dataset.due) - now();
    const closeToDue = Math.abs(left) < 5 * 60 * 1000;
    if (!closeToDue && everySecond) continue;
    const words = timeLeft(left);
    const text = left < 0 ? `▲ ${words}` : words;
    if (timer.textContent !== text) timer.textContent = text;
    timer.classList.toggle("late", left < 0);
    const from = Date.parse(timer.dataset.from);
    if (Number.isFinite(from)) announce(timer, (now() - from) / (Date.parse(timer.dataset.due) - from), words);
  }
}

export function startClock() {
  setServerTime(root.dataset.now);
  tick(false);
  setInterval(() => tick(true), 1000);
  setInterval(() => tick(false), 60 * 1000);
  document.addEventListener("htmx:afterSettle", () => tick(false));
}
