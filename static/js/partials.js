// htmx re-reads parts of the page. Here is what must be true of every such re-read.
import { setServerTime } from "./clock.js";
import { say } from "./announce.js";

const again = (login) => `${login}?ended=yes&next=${encodeURIComponent(location.pathname + location.search)}`;

// On a form nobody is led away from what he typed: it stays in sight beside the way back.
export function sayEnded(address, words, way) {
  const told = document.getElementById("session-ended");
  told.querySelector("b").textContent = words;
  Object.assign(told.querySelector("a"), { href: address, textContent: way });
  told.hidden = false;
  told.scrollIntoView({ block: "nearest" });
}

// A session that has ended answers with the login page; that belongs in the window, not in a card.
function leaveWhenLoggedOut(event) {
  const { xhr } = event.detail;
  const login = document.documentElement.dataset.login;
  if (login && new URL(xhr.responseURL, location.href).pathname === login) {
    event.preventDefault();
    if (document.querySelector("#order-form, #question-form")) sayEnded(again(login), "Your session has ended.", "Log in again");
    else location.assign(again(login));
  }
}

// Two answers may cross on their way: an older state never replaces a newer one.
function refuseOlder(event) {
  const shown = Number(event.detail.target.dataset?.version);
  const incoming = /data-version="(\d+)"/.exec(event.detail.serverResponse || "");
  if (event.detail.target.id === "order-live" && shown && incoming && Number(incoming[1]) < shown) event.detail.shouldSwap = false;
}

// A refused request still has an answer in words (the verdict, the form with its errors): show it.
function showRefusals(event) {
  if ([400, 409, 413, 422, 429].includes(event.detail.xhr.status) && event.detail.target.dataset.refusals === "show") {
    event.detail.shouldSwap = true;
    event.detail.isError = false;
  }
}

export function startHtmx() {
  document.addEventListener("htmx:beforeOnLoad", leaveWhenLoggedOut);
  document.addEventListener("htmx:beforeSwap", refuseOlder);
  document.addEventListener("htmx:beforeSwap", showRefusals);
  document.addEventListener("htmx:afterSwap", (event) => setServerTime(event.detail.xhr?.getResponseHeader("X-Server-Time")));
  document.addEventListener("htmx:responseError", (event) => {
    say("The server refused the request. Reload the page.");
    if (event.detail.xhr.status !== 403 || !document.querySelector("#order-form, #question-form")) return;
    sayEnded(location.pathname, "This page has expired: you logged out or in again in another window.", "Open it again");
  });
}
