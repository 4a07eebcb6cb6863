// What is typed into the order form is a draft on the server. What the server does not have yet is kept in this window's own store:
// it outlives an ended session, a reload and a lost connection, until it is saved, the person logs out, or another one logs in here.
import { say as speak } from "./announce.js";
import { now, timeOfDay } from "./clock.js";
import { sayEnded } from "./partials.js";

const STORE = "helicase.draft";
const UPLOAD = /^[0-9a-f-]{36}$/;
const NOT_TYPED = new Set(["csrfmiddlewaretoken", "file", "do", "draft", "draft_version", "told"]);
const GIVEN = new Set(["test", "organisation", "provider", "site", "priority", "repeats"]); // alone they are no draft
const PAUSE = 800; // ms without a key before it is saved
const RETRY = [2, 5, 10, 15]; // s
const channel = "BroadcastChannel" in window ? new BroadcastChannel("helicase") : null;
const person = () => document.documentElement.dataset.person || "";
const pageOf = () => [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");

function read() {
  try {
    return JSON.parse(sessionStorage.getItem(STORE));
  } catch {
    return null; // the store is blocked, or holds something that is not ours
  }
}

function write(draft) {
  try {
    sessionStorage.setItem(STORE, JSON.stringify(draft));
  } catch {
    delete draft.typed.pasted; // the text is the one thing that can be too long for the store
    try {
      sessionStorage.setItem(STORE, JSON.stringify(draft));
    } catch {
      forget();
    }
  }
}

function forget() {
  try {
    sessionStorage.removeItem(STORE);
  } catch {
    return; // blocked: nothing was kept
  }
}

function typedInto(form) {
  const typed = {};
  for (const [name, value] of new FormData(form)) if (!NOT_TYPED.has(name) && typeof value === "string") typed[name] = value;
  return typed;
}

const anything = (typed) => Object.entries(typed).some(([name, value]) => value && !GIVEN.has(name));

let loggedOut = false; // from this page, which may stay for a moment

function keep(form, sent) {
  const typed = typedInto(form);
  if (anything(typed) && !loggedOut) write({ person: person(), draft: form.elements.draft.value, typed, sent });
  else forget();
}

function fill(form, typed) {
  for (const [name, value] of Object.entries(typed)) {
    const field = form.elements.namedItem(name);
    if (!field || name === "intake" || name === "sample" || name === "sample_confirmed") continue;
    if (field.tagName !== "SELECT" || [...field.options].some((option) => option.value === value)) field.value = value;
  }
}

// The upload is on the server: its verdict is read again, and with it the choice of the sample.
function link(form, upload) {
  if (!UPLOAD.test(upload || "") || form.elements.namedItem("intake")) return;
  const address = form.dataset.uploads.replace("00000000-0000-0000-0000-000000000000", upload);
  form.dataset.restoring = upload;
  window.htmx?.ajax("GET", address, { target: "#verdict", swap: "outerHTML" });
}

// Saves the form to the server, one save at a time.
class Saver {
  constructor(form) {
    this.form = form;
    this.window = pageOf();
    this.lastSaved = null;
    this.dirty = false;
    this.over = false; // sent, placed or discarded: there is nothing to save any more
    this.failures = 0;
  }

  say(words, bad = false) {
    const line = document.getElementById("saved");
    const was = line.classList.contains("late");
    line.classList.toggle("late", bad);
    if (bad !== was) speak(words); // read out when saving fails, and when it works again; not every save
    if (line.textContent !== words) line.textContent = words;
  }

  soon(ms = PAUSE) {
    this.dirty = true;
    document.getElementById("saved").dataset.state = "waiting";
    clearTimeout(this.timer);
    if (!this.over) this.timer = setTimeout(() => this.save(), ms);
  }

  body(more = {}) {
    const data = new FormData(this.form);
    data.delete("file");
    for (const [name, value] of Object.entries({ window: this.window, ...more })) data.set(name, value);
    return data;
  }

  async save(more = {}) {
    if (this.saving || this.over || !anything(typedInto(this.form))) return;
    this.saving = new AbortController();
    this.dirty = false;
    try {
      const options = { method: "POST", body: this.body(more), signal: AbortSignal.any([this.saving.signal, AbortSignal.timeout(20_000)]) };
      await this.heard(await fetch(this.form.dataset.save, options));
    } catch {
      this.lost();
    } finally {
      this.saving = null;
    }
    if (this.dirty && !this.failures) this.soon();
  }

  async heard(response) {
    const login = document.documentElement.dataset.login;
    if (response.redirected && new URL(response.url).pathname === login) return this.loggedOut(login);
    if (!/json/.test(response.headers.get("Content-Type") || "")) return this.lost(); // an error page
    const said = await response.json();
    if (response.ok) return this.saved(said);
    if (response.status === 409) return this.elsewhere(said);
    this.over = Boolean(said.over);
    this.say(`Not saved. ${said.words} What you typed stays in this window.`, true);
  }

  saved(said) {
    this.failures = 0;
    this.lastSaved = now();
    this.form.elements.draft_version.value = said.version;
    this.say(`Draft saved ${said.saved}${said.left_out ? `, without the pasted text. ${said.left_out}` : ""}`);
    document.getElementById("draft-elsewhere").hidden = true;
    if (!this.dirty) {
      document.getElementById("saved").dataset.state = "saved";
      forget();
    }
    history.replaceState(null, "", this.form.getAttribute("action")); // a reload, or a browser that died, comes back to this draft
  }

  lost() {
    if (this.over) return;
    this.unsaved();
    const wait = RETRY[Math.min(this.failures++, RETRY.length - 1)];
    const since = this.lastSaved ? `since ${timeOfDay(this.lastSaved)}` : "yet";
    this.say(`Not saved ${since}: the server does not answer. Trying again in ${wait} s; what you typed is kept in this window.`, true);
    this.soon(wait * 1000);
  }

  unsaved() {
    this.dirty = true;
    keep(this.form, false);
  }

  loggedOut(login) {
    this.unsaved();
    const address = `${login}?ended=yes&next=${encodeURIComponent(this.form.getAttribute("action"))}`;
    sayEnded(address, "Your session has ended.", "Log in again");
    this.say("Not saved: your session has ended. What you typed is kept in this window.", true);
  }

  elsewhere(said) {
    this.unsaved();
    this.over = true; // nothing is saved from here before the person has decided
    this.say("Not saved: another window has a newer version.", true);
    const box = document.getElementById("draft-elsewhere");
    box.querySelector("[data-words]").textContent = said.words;
    box.hidden = false;
    document.getElementById("draft-mine").onclick = () => {
      this.over = false;
      this.save({ replace: "yes" });
    };
    document.getElementById("draft-theirs").onclick = () => {
      forget();
      location.assign(this.form.getAttribute("action"));
    };
  }

  stop() {
    this.over = true;
    this.dirty = false;
    clearTimeout(this.timer);
    this.saving?.abort();
  }
}

function follow(form, saver) {
  let later = 0;
  let sent = false; // what settles on the page while the answer is awaited must not unsay it
  const soon = () => {
    if (sent) return;
    clearTimeout(later);
    later = setTimeout(() => (saver.dirty || saver.saving) && keep(form, false), 200);
    saver.soon();
  };
  form.addEventListener("input", soon);
  form.addEventListener("change", soon);
  document.addEventListener("htmx:afterSettle", (event) => event.target.closest?.("#order-form") && form.querySelector("[name=intake]") && soon());
  window.addEventListener("online", () => saver.failures && saver.soon(0));
  window.addEventListener("pagehide", () => {
    if (!(saver.dirty || saver.saving) || saver.over || !anything(typedInto(form))) return;
    keep(form, false); // what is asked for next may be answered before the server has this
    navigator.sendBeacon(form.dataset.save, saver.body());
  });
  form.addEventListener("submit", (event) => {
    if (event.defaultPrevented) return;
    clearTimeout(later);
    if (event.submitter?.value === "save") {
      event.preventDefault(); // a script needs no page for that
      keep(form, false);
      saver.over = saver.over && !document.getElementById("draft-elsewhere").hidden;
      saver.soon(0);
      return;
    }
    sent = true;
    keep(form, /^place/.test(event.submitter?.value));
    saver.stop();
  });
  window.addEventListener("pageshow", (event) => {
    if (event.persisted) saver.over = sent = false;
  });
}

// An order page after sending is the answer to it; any other page says that nothing was placed.
function settle(draft) {
  if (draft.sent && document.getElementById("order-live")) return forget();
  if (draft.sent) write({ ...draft, sent: false });
  return draft;
}

// What was not saved comes back into the form of its draft, or into a form that is of no draft yet.
function restore(form, draft, saver) {
  const mine = draft.draft === form.elements.draft.value;
  if (!mine && Number(form.elements.draft_version.value)) return;
  if (!mine) {
    form.elements.draft.value = draft.draft;
    form.setAttribute("action", form.getAttribute("action").replace(/draft=[0-9a-f-]+/, `draft=${draft.draft}`));
  }
  fill(form, draft.typed);
  link(form, draft.typed.intake);
  form.dispatchEvent(new Event("change")); // what hangs on a choice follows it
  document.getElementById("draft").hidden = false;
  saver.soon(0);
}

export function startDraft() {
  if (channel) channel.onmessage = forget;
  document.querySelector("[data-log-out]")?.addEventListener("submit", () => {
    loggedOut = true;
    forget();
    channel?.postMessage("logged out");
  });
  let draft = read();
  if (draft && person() && draft.person !== person()) draft = forget();
  if (draft) draft = settle(draft);
  const form = document.getElementById("order-form");
  if (!form || form.dataset.replaces) return; // what is filled in from another order is no draft
  const saver = new Saver(form);
  follow(form, saver);
  if (form.dataset.answer) {
    history.replaceState(null, "", form.getAttribute("action")); // a reload opens the form, it sends nothing again
    keep(form, false);
    saver.soon(0);
  } else if (draft) restore(form, draft, saver);
}
