// Everything here improves pages that work without it. Each module looks for its own elements and leaves others alone.
import { startClock } from "./clock.js";
import { startDraft } from "./draft.js";
import { startHtmx } from "./partials.js";
import { startKeys } from "./keys.js";
import { startLive } from "./live.js";
import { startMenus } from "./menu.js";
import { startOnce } from "./once.js";
import { startOrderForm } from "./order_form.js";
import { startQuestion } from "./question.js";
import { startSelect } from "./select.js";

startClock();
startHtmx();
startKeys();
startLive();
startMenus();
startOnce();
startOrderForm();
startQuestion();
startSelect();
startDraft();
