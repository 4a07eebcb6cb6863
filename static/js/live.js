// Keeps a page up to date. What comes over the socket says that something moved, and nothing about anybody; the part of
// the page is then fetched like any page, by whoever may still see it. Without a socket it is fetched on a timer.
import { now, timeOfDay } from "./clock.js";
import { say } from "./announce.js";

const POLL = 15_000; // while the socket is down
const REFRESH = 5_000; // how often a part is asked whether it is due: engine workers come and go without a hint
const PING = 20_000;
const PONG = 5_000;
const RETRY = [500, 1_000, 2_000, 5_000, 10_000, 15_000];

const polling = new URLSearchParams(location.search).get("poll") !== "off";
let socket = null;
let attempt = 0;
let lastRead = now();
let state = "connecting";
let pongTimer = 0;
let retryTimer = 0;

const part = () => document.querySelector("[data-live]");

let asked = -Infinity; // when the part was last asked for, on the browser's steady clock
let later = 0;
let reading = false; // from sending until the new part listens: what is triggered in between, htmx loses with the part it was for
let missed = false; // something moved meanwhile

// A list of many orders is re-read once a second at most, however many of them move.
function reread() {
  const target = part();
  if (!target || !window.htmx) return;
  if (reading) {
    missed = true;
    return;
  }
  const wait = asked + Number(target.dataset.gap || 0) - performance.now();
  clearTimeout(later);
  if (wait > 0) {
    later = setTimeout(reread, wait);
    return;
  }
  asked = performance.now();
  window.htmx.trigger(target, "reread");
}

// A part says after how many seconds it wants to be read again, whatever the socket says.
function refreshDue() {
  const seconds = Number(part().dataset.refresh || 0);
  return seconds > 0 && performance.now() - asked >= seconds * 1000;
}

// The bell is read again when a hint comes, not more often than every five seconds, and every half minute; not on pages that
// read nothing else again: who types there must not be led to the login page because his session has ended.
const BELL = 30_000;
let bellAsked = -Infinity;
let bellLater = 0;

function rereadBell() {
  const bell = document.getElementById("bell");
  if (!bell || !window.htmx || bellLater) return;
  const wait = Math.max(0, bellAsked + 5_000 - performance.now());
  bellLater = setTimeout(() => {
    bellLater = 0;
    bellAsked = performance.now();
    window.htmx.trigger("#bell", "reread-bell");
  }, wait);
}

function show() {
  const line = document.getElementById("link-state");
  if (!line) return;
  const since = timeOfDay(lastRead);
  const words = {
    connecting: `connecting · read ${since}`,
    live: part() ? `live · ${timeOfDay()}` : `read ${since}`,
    retrying: `reconnecting · ${polling ? "reading every 15 s" : "not reading"} · read ${since}`,
    stale: `stale since ${since} · the server does not answer`,
  }[state];
  line.dataset.link = state;
  const text = line.querySelector("[data-words]");
  if (text.textContent !== words) text.textContent = words;
}

function become(next) {
  if (next !== state) {
    if (next === "retrying" && state === "live") say("Live updates are interrupted. The page reads itself every 15 seconds.");
    if (next === "stale") say("The server does not answer. What you see may be out of date.");
    if (next === "live" && state !== "connecting") say("Live updates are back.");
  }
  state = next;
  show();
}

function connect() {
  clearTimeout(retryTimer);
  const scheme = location.protocol === "https:" ? "wss" : "ws";
  socket = new WebSocket(`${scheme}://${location.host}${part().dataset.live}`);
  socket.onopen = () => {
    attempt = 0;
    become("live");
    reread(); // whatever happened while nobody listened
  };
  socket.onmessage = (event) => {
    clearTimeout(pongTimer);
    if (event.data === "pong") return;
    rereadBell();
    if (event.data !== '{"bell": true}' || part().id === "notifications-live") reread();
  };
  socket.onclose = () => {
    clearTimeout(pongTimer);
    if (state !== "stale") become("retrying");
    retryTimer = setTimeout(connect, RETRY[Math.min(attempt++, RETRY.length - 1)]);
  };
}

function ping() {
  if (socket?.readyState !== WebSocket.OPEN) return;
  socket.send("ping");
  clearTimeout(pongTimer);
  pongTimer = setTimeout(() => socket.close(), PONG); // open in name only
}

function sent(event) {
  if (event.detail.elt === part()) reading = true;
}

// An answer that took the place of the part is over when the new one has settled, any other at once.
function answered(event) {
  if (!reading || (event.type === "htmx:afterSettle" ? event.target : event.detail.elt) !== part()) return;
  reading = false;
  if (missed) reread();
  missed = false;
}

function wasRead(event) {
  if (event.detail.target !== part() && event.detail.elt !== part()) return;
  lastRead = now();
  if (state === "stale") become(socket?.readyState === WebSocket.OPEN ? "live" : "retrying");
  show();
}

// A part without a socket reads itself on its own; all there is to say is when that last worked.
function polled() {
  state = "live";
  show();
  document.addEventListener("htmx:afterSwap", () => {
    lastRead = now();
    become("live");
  });
  for (const fault of ["htmx:sendError", "htmx:timeout", "htmx:responseError"]) document.addEventListener(fault, () => become("stale"));
  setInterval(show, 1000);
}

export function startLive() {
  if (document.querySelector("[data-polled]")) polled();
  if (!part()) return;
  if (polling) setInterval(rereadBell, BELL);
  document.addEventListener("htmx:beforeSend", sent);
  for (const end of ["htmx:afterSettle", "htmx:afterRequest"]) document.addEventListener(end, answered);
  document.addEventListener("htmx:afterSwap", wasRead);
  document.addEventListener("htmx:sendError", () => become("stale"));
  document.addEventListener("htmx:timeout", () => become("stale"));
  window.addEventListener("online", () => socket?.readyState > WebSocket.OPEN && connect());
  setInterval(show, 1000);
  setInterval(ping, PING);
  if (polling) {
    setInterval(() => state !== "live" && reread(), POLL);
    setInterval(() => state === "live" && refreshDue() && reread(), REFRESH);
  }
  connect();
}
