// What is typed into the order form outlives an ended session, a reload and the back button: it is kept in this window's own
// store until the order is placed, the person logs out, or somebody else logs in here.
const STORE = "helicase.draft";
const UPLOAD = /^[0-9a-f-]{36}$/;
const NOT_TYPED = new Set(["csrfmiddlewaretoken", "file", "do"]);
const GIVEN = new Set(["test", "organisation", "priority"]); // alone they are no draft
const channel = "BroadcastChannel" in window ? new BroadcastChannel("helicase") : null;
const person = () => document.documentElement.dataset.person || "";

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

function keep(form, sent) {
  const typed = typedInto(form);
  const anything = Object.entries(typed).some(([name, value]) => value && !GIVEN.has(name));
  if (anything) write({ person: person(), typed, sent });
  else forget();
}

function fill(form, typed) {
  for (const [name, value] of Object.entries(typed)) {
    const field = form.elements.namedItem(name);
    if (!field || name === "intake" || name === "sample" || name === "sample_confirmed") continue;
    if (field.tagName !== "SELECT" || [...field.options].some((option) => option.value === value)) field.value = value;
  }
  form.dispatchEvent(new Event("change")); // what hangs on a choice follows it
}

// The upload is on the server: its verdict is read again, and with it the choice of the sample.
function link(form, upload) {
  if (!UPLOAD.test(upload || "") || form.elements.namedItem("intake")) return;
  const address = form.dataset.uploads.replace("00000000-0000-0000-0000-000000000000", upload);
  form.dataset.restoring = upload;
  window.htmx?.ajax("GET", address, { target: "#verdict", swap: "outerHTML" });
}

function restore(form, draft) {
  fill(form, draft.typed);
  link(form, draft.typed.intake);
  document.getElementById("draft").hidden = false;
}

function follow(form) {
  let later = 0;
  const soon = () => {
    clearTimeout(later);
    later = setTimeout(() => form.dataset.discarded || keep(form, false), 300);
  };
  form.addEventListener("input", soon);
  form.addEventListener("change", soon);
  document.addEventListener("htmx:afterSettle", soon); // the upload that the form is linked to
  form.addEventListener("submit", (event) => {
    clearTimeout(later);
    keep(form, event.submitter?.value === "place");
  });
  document.getElementById("draft-discard").addEventListener("click", () => {
    form.dataset.discarded = "yes";
    clearTimeout(later);
    forget();
    location.assign(form.getAttribute("action"));
  });
}

// An order page after sending is the answer to it; any other page says that nothing was placed.
function settle(draft) {
  if (draft.sent && document.getElementById("order-live")) forget();
  else if (draft.sent) write({ ...draft, sent: false });
}

export function startDraft() {
  if (channel) channel.onmessage = forget;
  document.querySelector("[data-log-out]")?.addEventListener("submit", () => {
    forget();
    channel?.postMessage("logged out");
  });
  let draft = read();
  if (draft && person() && draft.person !== person()) draft = forget();
  if (draft) settle(draft);
  const form = document.getElementById("order-form");
  if (!form) return;
  if (form.dataset.answer) {
    history.replaceState(null, "", form.getAttribute("action")); // a reload opens the form, it sends nothing again
    keep(form, false);
  } else if (draft) restore(form, draft);
  follow(form);
}
