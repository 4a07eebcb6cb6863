// The order form: drag and drop, checking as soon as a file is chosen, the STAT reason, one order for two clicks.
import { say } from "./announce.js";

let said = ""; // the last verdict read out
const get = (id) => document.getElementById(id);

function dragAndDrop(drop, file) {
  for (const kind of ["dragenter", "dragover"]) {
    drop.addEventListener(kind, (event) => {
      event.preventDefault();
      drop.classList.add("over");
    });
  }
  for (const kind of ["dragleave", "drop"]) drop.addEventListener(kind, () => drop.classList.remove("over"));
  drop.addEventListener("drop", (event) => {
    event.preventDefault();
    if (!event.dataTransfer.files.length) return;
    file.files = event.dataTransfer.files;
    file.dispatchEvent(new Event("change", { bubbles: true }));
  });
  // a file that misses the field must not replace the page, and with it everything that was typed
  for (const kind of ["dragover", "drop"]) window.addEventListener(kind, (event) => event.preventDefault());
}

// A verdict speaks of one input. When the input changes, the verdict goes, and with it the link to the old file.
function outdate() {
  for (const id of ["id_file_error", "id_pasted_error"]) get(id).textContent = "";
  delete get("order-form").dataset.restoring;
  delete get("verdict").dataset.state;
  if (!document.querySelector("#verdict [name=intake]")) {
    document.querySelector("#verdict > ul.alarm")?.remove(); // spoke of the input as it was
    return;
  }
  const told = document.createElement("p");
  told.className = "note";
  told.textContent = "The input has changed since it was checked. Check it again.";
  get("verdict").replaceChildren(told);
  get("sample-choice")?.replaceChildren();
}

function checkedInput(form) {
  const [file, pasted, button, remove] = [get("id_file"), get("id_pasted"), get("check"), get("no-file")];
  dragAndDrop(get("drop"), file);
  // a file and a text together are refused in words, here as on the server: neither is thrown away behind the person's back
  const chosen = () => {
    remove.hidden = !file.files.length;
    outdate();
    if (file.files.length) button.click();
  };
  file.addEventListener("change", chosen);
  remove.addEventListener("click", () => {
    file.value = "";
    chosen();
    file.focus();
  });
  pasted.addEventListener("input", outdate);
  const selects = [...form.querySelectorAll("[name=test], [name=organisation]")];
  for (const select of selects) {
    select.addEventListener("change", () => {
      outdate();
      if ((file.files.length || pasted.value.trim() || form.elements.namedItem("kept")) && selects.every((one) => one.value)) button.click();
    });
  }
}

// What the summary above says of the sample has been settled when one is chosen.
function sampleChosen(form) {
  form.addEventListener("change", (event) => {
    const settled = event.target.id === "id_sample" && document.querySelector('#error-summary a[href="#id_sample"]');
    if (settled) settled.textContent = "A sample is chosen: read the verdict and confirm it.";
    if (settled) settled.hash = "verdict";
  });
}

// An answer about an upload that the form no longer speaks of comes too late: it must not link the form to it again.
function refuseOutdated(form) {
  document.addEventListener("htmx:beforeSwap", (event) => {
    const asked = /\/intakes\/([0-9a-f-]{36})\/$/.exec(event.detail.requestConfig?.path || "");
    const linked = form.querySelector("#verdict [name=intake]")?.value ?? form.dataset.restoring;
    if (asked && asked[1] !== linked) event.detail.shouldSwap = false;
  });
}

function uploadProgress() {
  document.addEventListener("htmx:xhr:progress", (event) => {
    const bar = get("upload");
    if (!bar || event.detail.elt.id !== "check" || !event.detail.lengthComputable) return;
    bar.hidden = event.detail.loaded >= event.detail.total;
    bar.value = event.detail.loaded / event.detail.total;
  });
}

function statReason(form) {
  const [box, reason] = [get("stat-reason"), get("id_stat_reason")];
  const update = () => {
    const stat = form.querySelector("[name=priority]:checked")?.value === "stat";
    box.hidden = !stat;
    reason.required = stat;
  };
  form.addEventListener("change", update);
  update();
}

// By whose clock the collection time is read changes with the site, else with the organisation, that orders.
function collectionZone(form) {
  const [field, hint] = [get("id_collected_at"), get("id_collected_at_helptext")];
  if (!field?.dataset.zones || !hint) return;
  const zones = JSON.parse(field.dataset.zones);
  const update = () => {
    const chosen = (name) => form.elements.namedItem(name)?.value;
    hint.textContent = `by the clock of ${zones[chosen("site")] || zones[chosen("organisation")] || "the ordering site"}`;
  };
  form.addEventListener("change", update);
  update();
}

// The line moves while somebody types: what each priority would mean is read again when he chooses one.
function foreseenAgain(form) {
  for (const radio of form.querySelectorAll("[name=priority]")) {
    radio.addEventListener("change", () => {
      const upload = form.querySelector("#verdict[data-state=ready] [name=intake]")?.value;
      if (upload) window.htmx?.ajax("GET", `${form.dataset.uploads.replace("00000000-0000-0000-0000-000000000000", upload)}finishes`, { swap: "none" });
    });
  }
}

// Enter in a field checks the input and no more; Ctrl+Enter places the order and Ctrl+S saves the draft, wherever one is.
function keyboard(form) {
  document.addEventListener("keydown", (event) => {
    if (!(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey) return;
    const button = { Enter: document.querySelector("#nevertheless[autofocus]") || get("place"), s: get("save") }[event.key];
    if (!button) return;
    event.preventDefault();
    form.requestSubmit(button);
  });
}

function oneOrder(form) {
  form.addEventListener("submit", (event) => {
    if (!/^place/.test(event.submitter?.value)) return;
    if (form.dataset.sent) {
      event.preventDefault();
      return;
    }
    form.dataset.sent = "yes";
    if (form.querySelector("#verdict [name=intake]")) get("id_file").disabled = true; // the file is there already
    event.submitter.setAttribute("aria-disabled", "true");
    event.submitter.textContent = "Placing the order…";
  });
  window.addEventListener("pageshow", () => delete form.dataset.sent);
}

export function startOrderForm() {
  (document.querySelector("#nevertheless[autofocus]") || get("duplicates") || get("error-summary"))?.focus();
  const form = get("order-form");
  if (!form) return;
  checkedInput(form);
  sampleChosen(form);
  refuseOutdated(form);
  uploadProgress();
  statReason(form);
  foreseenAgain(form);
  collectionZone(form);
  keyboard(form);
  oneOrder(form);
  document.addEventListener("htmx:afterSwap", () => {
    const verdict = get("verdict");
    if (verdict?.dataset.said && verdict.dataset.said !== said) say((said = verdict.dataset.said));
  });
}
