// htmx re-reads parts of the page. Here is what must be true of every such re-read.
import { setServerTime } from "./clock.js";
import { say } from "./announce.js";

// A session that has ended answers with the login page; that belongs in the window, not in a card.
function leaveWhenLoggedOut(event) {
  const { xhr } = event.detail;
  const login = document.documentElement.dataset.login;
  if (login && new URL(xhr.responseURL, location.href).pathname === login) {
    event.preventDefault();
    location.assign(`${login}?next=${encodeURIComponent(location.pathname + location.search)}`);
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
  if ([400, 409, 413, 422].includes(event.detail.xhr.status) && event.detail.target.dataset.refusals === "show") {
    event.detail.shouldSwap = true;
    event.detail.isError = false;
  }
}

export function startHtmx() {
  document.addEventListener("htmx:beforeOnLoad", leaveWhenLoggedOut);
  document.addEventListener("htmx:beforeSwap", refuseOlder);
  document.addEventListener("htmx:beforeSwap", showRefusals);
  document.addEventListener("htmx:afterSwap", (event) => setServerTime(event.detail.xhr?.getResponseHeader("X-Server-Time")));
  document.addEventListener("htmx:responseError", () => say("The server refused the request. Reload the page."));
}
