"""Every reason code a person, an interface or an audit event can meet, with its words.

Those of a file and its records stand in `file_reasons`, all others here. A code is stable: it is stored, printed and
matched by other hospitals' software. Change the words freely, never the code; a code that is no longer used moves to
RETIRED, so that nobody gives it a second meaning.
"""

from __future__ import annotations

import sys
from enum import unique

from foundation.file_reasons import FileReason
from foundation.reason_code import ReasonCode
from foundation.reasons_preface import PREFACE


@unique
class Reason(ReasonCode):
    """Why something waits, was decided, was refused or has no score; and what an interface answers."""

    # Orders, access and work.
    ACCESS_NOT_PERMITTED = "access.not-permitted", "Your role does not allow this."
    STATE_ILLEGAL_MOVE = "state.illegal-move", "This change of state is not possible from where the object stands."
    STATE_STALE = "state.stale", "Somebody else changed this first. Reload the page and look again."
    ORDER_INVALID = "order.invalid", "Some fields need to be corrected."
    DUPLICATE_TEST = "duplicate.patient-test", "The same patient and test within 14 days."
    DUPLICATE_FILE = "duplicate.file", "The same file and sample for the same test."
    DUPLICATE_SPECIMEN = "duplicate.specimen", "The same specimen label."
    ORDER_CONFLICT = "order.conflict", "Order {accession} already stands for this upload or number, with other details."
    ORDER_CANCELLED = "order.cancelled", "A person cancelled the order; the order says why."
    CONFLICT_NEW = "order.conflict-new", "Another order, although its number was given before: a person said so."
    CONFLICT_SAME = "order.conflict-same", "The same as the order that has its number; a person said so, and nothing more is done."
    CONFLICT_REFUSED = "order.conflict-refused", "Its number stands for another order, and a person refused this one."
    ORDER_REPLACED = "order.replaced", "Another order has replaced this one; it says what was changed."
    ORDER_RETURNED = "order.returned", "A reviewer asked for another run; the review says why."
    ORDER_RESULTS_REJECTED = "order.results-rejected", "A reviewer rejected the results; the order says why."
    ORDER_RECOLLECTED = "order.recollected", "Its specimen was rejected, and it was ordered again on a new one."
    ORDER_WRONG_PATIENT = "order.wrong-patient", "The order was for the wrong patient: it and its reports were entered in error."
    IDENTITY_MISMATCH = (
        "identity.mismatch",
        "This MRN is known with another name, birth date or sex. Nothing is scored until a person has decided who it is.",
    )
    SPECIMEN_REJECTED = (
        "specimen.rejected",
        "The specimen was rejected. Ask for a new one, or decide that the result counts all the same; the report says it.",
    )
    SPECIMEN_HAEMOLYSED = "specimen.haemolysed", "The specimen is haemolysed."
    SPECIMEN_INSUFFICIENT = "specimen.insufficient", "There is too little of the specimen."
    SPECIMEN_UNLABELLED = "specimen.unlabelled", "The specimen has no label."
    SPECIMEN_MISLABELLED = "specimen.mislabelled", "The label of the specimen names somebody or something else than the order."
    SPECIMEN_CONTAINER = "specimen.container", "The specimen came in the wrong container."
    SPECIMEN_LEAKED = "specimen.leaked", "The specimen has leaked."
    SPECIMEN_TOO_OLD = "specimen.too-old", "The specimen is too old."
    SPECIMEN_OTHER = "specimen.other", "The specimen cannot be used for another reason, which is given in words."
    SPECIMEN_TAKEN_BACK = "specimen.taken-back", "It was a mistake and was taken back; what it said stays on record."
    IDENTITY_STATEMENT_WRONG = "identity.statement-wrong", "It is the known patient; what the order stated was wrong."
    IDENTITY_RECORD_WRONG = "identity.record-wrong", "It is the known patient; the record was wrong, and was corrected."
    IDENTITY_ANOTHER = "identity.another-person", "It is another person than the known one; the number was corrected."
    IDENTITY_ASKED_AGAIN = (
        "identity.asked-again",
        "The corrected number is known with other details too: the question is asked again.",
    )
    IDENTITY_REJECTED = "identity.rejected", "Who the patient is could not be settled; the order was rejected."
    HOLD_SPECIMEN = "hold.specimen", "A question about the specimen has to be answered first."
    HOLD_INPUT = "hold.input", "A question about the uploaded file has to be answered first."
    HOLD_REQUESTER = "hold.requester", "The requester asked to wait."
    HOLD_LABORATORY = "hold.laboratory", "The laboratory has something to clear up first."
    STAT_REASON_MISSING = "stat.reason-missing", "STAT was asked for without a reason. It runs as STAT; ask for the reason."
    STAT_REASON_GIVEN = "stat.reason-given", "This order is not STAT, or somebody has said already why it is."
    ASSIGNEE_LEFT = "assignee.left", "The person whose work this was left, or may not work on it any more. Somebody has to take it."
    RESULT_ITEM_FAILED = "result.item-failed", "At least one item could not be scored; its row says why."
    INTAKE_WORKER_LOST = "intake.worker-lost", "The process that checked the file stopped; the check goes on where it was."
    INTAKE_CONTINUES = "intake.continues", "The file is large: its check made room for others and goes on where it was."
    INTAKE_WITHDRAWN = "intake.withdrawn", "The upload was removed before its check had ended."
    INTAKE_TOO_SLOW = "intake.too-slow", "A piece of the file took more than 15 minutes to check. Split it, or ask the laboratory."
    INTAKE_CHECK_FAILED = "intake.check-failed", "The file could not be checked in three attempts. Tell the laboratory."
    REFERENCE_CHANGED = "reference.changed", "The reference file no longer holds the sequences it was registered with."

    # A manifest of orders as a whole, and its rows.
    MANIFEST_TOO_LARGE = "manifest.too-large", "The table is larger than {limit}. Split it."
    MANIFEST_TOO_MANY_ROWS = "manifest.too-many-rows", "The table has more than {limit} rows. Split it."
    MANIFEST_NO_ROWS = "manifest.no-rows", "The table holds no order: there is nothing below its header."
    MANIFEST_ENCODING = "manifest.encoding", "The table is not UTF-8: {detail}. Save it as “CSV UTF-8”."
    MANIFEST_NO_COLUMNS = "manifest.no-columns", "The first row has no columns separated by comma, semicolon or tab."
    MANIFEST_UNKNOWN_COLUMN = (
        "manifest.unknown-column",
        "The header (read with {delimiter}s) names a column that the table does not have: {columns}. Columns are: {known}.",
    )
    MANIFEST_COLUMN_TWICE = "manifest.column-twice", "The header names a column twice: {columns}."
    MANIFEST_COLUMN_MISSING = "manifest.column-missing", "The header lacks: {columns}."
    MANIFEST_QUOTES = "manifest.quotes", "Line {line} is no row of the table ({detail}): a quotation mark is not closed."
    MANIFEST_ZIP_DAMAGED = "manifest.zip-damaged", "The ZIP cannot be read ({detail}): it is damaged or was cut off."
    MANIFEST_ENTRIES = "manifest.entries", "The ZIP has more than {limit} entries. Split it."
    MANIFEST_UNPACKED = "manifest.unpacked", "The ZIP unpacks to more than {limit}. Split it."
    MANIFEST_BOMB = "manifest.bomb", "The entry {name} unpacks to more than {ratio} times its size; that is no sequencing data."
    MANIFEST_ENTRY_PATH = "manifest.entry-path", "The ZIP has an entry that leads out of it or to a drive: {name}."
    MANIFEST_ENTRY_LINK = "manifest.entry-link", "The ZIP has an entry that is a link and no file: {name}."
    MANIFEST_ENTRY_LOCKED = "manifest.entry-locked", "The ZIP is protected by a password (entry {name}). Make it without one."
    MANIFEST_ENTRY_TWICE = "manifest.entry-twice", "The ZIP has two entries of one name: {name}."
    MANIFEST_ENTRY_DAMAGED = "manifest.entry-damaged", "The entry {name} of the ZIP cannot be unpacked ({detail})."
    MANIFEST_NOT_ONE_TABLE = (
        "manifest.not-one-table",
        "The ZIP must hold one table: a file named manifest.csv, or a single .csv, .tsv or .txt. It has: {found}.",
    )
    MANIFEST_CELLS = "manifest.cells", "The row has {found} cells, the header {expected}."
    MANIFEST_CELL_TOO_LONG = "manifest.cell-too-long", "The cell is longer than {limit} characters."
    MANIFEST_CONTROL_CHARACTER = "manifest.control-character", "The cell holds a line end or a control character."
    MANIFEST_DATE = "manifest.date", "Write the date as YYYY-MM-DD; the cell holds: {found}."
    MANIFEST_TIME = "manifest.time", "Write date and time as YYYY-MM-DD HH:MM; the cell holds: {found}."
    MANIFEST_TIME_SKIPPED = "manifest.time-skipped", "The clocks skipped this time in {zone}: it did not exist."
    MANIFEST_TIME_TWICE = "manifest.time-twice", "This time came twice in {zone}. Write which one it was: {first} or {second}."
    MANIFEST_STAT_REASON = "manifest.stat-reason", "Say why this order is STAT."
    MANIFEST_VALUE = "manifest.value", "{words}"
    MANIFEST_FILE_MISSING = "manifest.file-missing", "There is no file {name} {where}."
    MANIFEST_FILE_SEVERAL = "manifest.file-several", "Several uploads are called {name}. Name the SHA-256 of the one that is meant."
    MANIFEST_TEST_UNKNOWN = "manifest.test-unknown", "No laboratory offers a test with this code. Codes are: {known}."
    MANIFEST_TEST_SEVERAL = "manifest.test-several", "Several laboratories offer this test. Fill in the column laboratory: {known}."
    MANIFEST_PROVIDER = "manifest.provider", "Your organisation has {found} open provider with this identifier or name: {name}."
    MANIFEST_SITE = "manifest.site", "Your organisation has no open site with this code: {code}."
    MANIFEST_PERFORMING_SITE = "manifest.performing-site", "The laboratory has no open site with this code: {code}."
    MANIFEST_NUMBER_TWICE = "manifest.number-twice", "Row {row} says something else under this number: one of them is wrong."
    MANIFEST_ROW_TWICE = "manifest.row-twice", "The row says the same as row {row}: one of them is too many."
    MANIFEST_PLACED_BEFORE = "manifest.placed-before", "This row was placed before: order {accession}."
    MANIFEST_UNNAMED = "manifest.unnamed", "No row names these files of the ZIP; nothing was ordered on them: {names}."
    MANIFEST_STOPPED = "manifest.stopped", "A person stopped it; what was placed stays placed."
    MANIFEST_NOT_PERMITTED = "manifest.not-permitted", "Whoever asked for this may place no orders any more."

    ANNOTATION_CHANGED = "annotation.changed", "The annotation's file no longer holds what was registered; register it again."

    # Break-glass: why somebody opened what he has no right to.
    BREAK_GLASS_EMERGENCY = "breakglass.emergency", "The patient is in an emergency."
    BREAK_GLASS_TAKEN_OVER = "breakglass.taken-over", "The person has taken over the care of the patient."
    BREAK_GLASS_UNREACHABLE = "breakglass.unreachable", "Nobody who has the report can be reached."
    BREAK_GLASS_OTHER = "breakglass.other", "Another reason, which is given in words."

    # Work on the engine. `item.*` stand on a result row: what was said about an item, or why it has no score.
    JOB_WORKER_DIED = "job.worker-died", "Three workers stopped while computing this part; a person must look before it runs again."
    JOB_OUTCOME_REFUSED = (
        "job.outcome-refused",
        "The results of this part could not be stored; a person must look before it runs again.",
    )
    JOB_CANNOT_START = (
        "job.cannot-start",
        "This part could not be prepared for the engine; a person must look before it runs again.",
    )
    REFERENCE_UNREADABLE = "reference.unreadable", "The reference file cannot be read by the engine worker."
    ITEM_REQUEST_REFUSED = "item.request-refused", "The engine cannot serve this item."
    ITEM_REQUEST_TOO_LARGE = "item.request-too-large", "The item needs more engine memory than there is."
    ITEM_CONTEXT_TOO_LONG = "item.context-too-long", "The sequence is longer than the model can read at once."
    ITEM_INVALID_REQUEST = "item.invalid-request", "The item is empty or holds something the model does not know."
    ITEM_UNKNOWN_SYMBOL = "item.unknown-symbol", "The sequence holds a character the model does not know."
    ITEM_REFERENCE_MISMATCH = "item.reference-mismatch", "REF is not what the reference holds at this position."
    ITEM_OUTSIDE_CONTIG = "item.outside-contig", "The position lies before the first base of the contig, or behind its last."
    ITEM_UNKNOWN_CONTIG = "item.unknown-contig", "The reference holds no contig of this name."
    ITEM_UNSUPPORTED_ALLELE = "item.unsupported-allele", "The allele is empty, symbolic or too long for the window."
    ITEM_UNEQUAL_ALLELES = "item.unequal-alleles", "The protocol compares alleles of equal length only; centred scores this one."
    ITEM_UNSUPPORTED_TOKENIZER = (
        "item.unsupported-tokenizer",
        "The model's tokens are of unequal width, and the protocol needs tokens of one width.",
    )
    ITEM_ROW_FAILED = "item.row-failed", "Computing this item failed; the other items were not touched."
    ITEM_NON_FINITE = "item.non-finite", "The model gave no finite number for this item."
    ITEM_SCORED_WHOLE = "item.scored-whole", "The event fits the window and was scored as if it were written out."
    ITEM_SCORED_BREAKPOINTS = (
        "item.scored-breakpoints",
        "The event is longer than half a window: scored are windows across its junctions against those across its breakpoints.",
    )
    ITEM_WINDOW_CUT_LEFT = "item.window-cut-left", "The contig begins inside the window: there was less context on the left."
    ITEM_WINDOW_CUT_RIGHT = "item.window-cut-right", "The contig ends inside the window: there was less context on the right."
    ITEM_AMBIGUOUS_BASES = "item.ambiguous-bases", "The window holds bases other than A, C, G and T."
    ITEM_UNKNOWN_TOKENS = "item.unknown-tokens", "The window holds characters the model has no token for."
    ITEM_EQUAL_WINDOWS = "item.equal-windows", "REF and ALT are the same to the model within this window: the score is 0 for that."
    ITEM_WINDOW_ROUNDED = "item.window-rounded", "The window was shortened to whole tokens of this model."
    ITEM_BASES_TRIMMED = "item.bases-trimmed", "Bases that fill no token of this model were left out at an end."
    ITEM_BASES_PADDED = "item.bases-padded", "The model's tokenizer added letters that are not in the sequence."
    ITEM_FIRST_TOKEN_UNSCORED = (
        "item.first-token-unscored",
        "Nothing stands before a sequence of this model: its first token has no probability.",
    )
    ITEM_NO_REFERENCE_BASE = "item.no-reference-base", "The reference holds no base at this site, so nothing can be compared."

    # What an interface answers in place of what was asked for.
    API_UNAUTHENTICATED = "api.unauthenticated", "A valid token is needed, in the header: “Authorization: Bearer hct_…”."
    API_NOBODY_ANSWERS = (
        "api.nobody-answers",
        "This program does nothing any more: who answers for it has left. An administrator names somebody else for it.",
    )
    API_TOO_MANY_TRIES = "api.too-many-tries", "Too many requests without a valid token came from this address; wait a minute."
    API_NOT_FOUND = "api.not-found", "There is nothing at this address, or not for this token."
    API_METHOD = "api.method-not-allowed", "This address does not take {method}; it takes {allowed}."
    API_NOT_ACCEPTABLE = "api.not-acceptable", "This address answers with {offered}, which the Accept header excludes."
    API_MEDIA_TYPE = "api.media-type", "The body has to be {wanted}; the Content-Type header says {given}."
    API_MALFORMED = "api.malformed", "The request cannot be read: {detail}."
    API_INVALID = "api.invalid", "Something in the request has to be corrected; errors say what and where."
    API_TOO_LARGE = "api.too-large", "The body is larger than {limit} bytes, the most that is taken here."
    API_TOO_MANY_UPLOADS = "api.too-many-uploads", "{count} files of this account are arriving already; wait until one has arrived."
    API_PRECONDITION_MISSING = (
        "api.precondition-missing",
        "Say with If-Match which edit of the order you have seen: the ETag of GET /api/v1/orders/{id}.",
    )
    API_KEY_REUSED = "api.key-reused", "This Idempotency-Key was sent before, with another request."
    API_UNAVAILABLE = "api.unavailable", "The database cannot be reached now. Send the same request again, with the same key."
    API_FAILED = "api.failed", "The request failed by a fault of ours, and nothing of it was kept. The log has it as {reference}."
    ORDER_CLOSED = "order.closed", "This order is closed: its priority does not matter any more, and nothing of it can wait."
    ORDER_ON_HOLD = "order.on-hold", "This order is on hold already."
    ORDER_NOT_ON_HOLD = "order.not-on-hold", "This order is not on hold."
    HOLD_TWO_PEOPLE = "hold.two-people", "An order that is or was STAT waits when its requester or two people say so."
    HOLD_BY_ONE = "hold.by-one", "One person alone put this order on hold: let it go on, then make it STAT."
    REPORT_WITHHELD = "report.withheld", "Nothing of this order has been released yet; its state and progress can be read."
    REPORT_RECALLED = (
        "report.recalled",
        "The order was cancelled after its report, which is not valid any more; the order says why.",
    )
    REPORT_NOT_SCORED = "report.not-scored", "Scoring has not finished."
    REPORT_TOO_LARGE = "report.too-large", "The order has more results than one document holds; read them page by page, or as CSV."
    REPORT_TOO_MANY = "report.too-many-results", "The order has more results than one CSV file is made of; read them page by page."

    # What FHIR answers, in an OperationOutcome or as the reason of a Task.
    FHIR_RESOURCE = "fhir.resource-not-taken", "The body has to be a resource that is taken here: {wanted}."
    FHIR_EMPTY = "fhir.empty", "FHIR has no null, and nothing empty: leave the element out."
    FHIR_REQUIRED = "fhir.required", "This is needed for an order."
    FHIR_CODE = "fhir.code-unknown", "This code is not taken here: {detail}."
    FHIR_VALUE = "fhir.value", "This value cannot be used: {detail}."
    FHIR_NOT_CARRIED = (
        "fhir.not-carried",
        "An order does not carry this, or R4 does not have it. With “Prefer: handling=lenient”, what R4 has is left out and told.",
    )
    FHIR_LEFT_OUT = "fhir.left-out", "“{element}” is not carried by an order; it was left out, as the sender allowed."
    FHIR_REFERENCE = "fhir.reference-unresolved", "“{reference}” leads to nothing that was sent, or is known here to this token."
    FHIR_REFERENCE_KIND = "fhir.reference-kind", "This has to lead to a {wanted}."
    FHIR_ONE_ORDER = "fhir.one-order", "A transaction holds exactly one ServiceRequest; this one holds {count}."
    FHIR_ADDRESS_TWICE = "fhir.address-twice", "“{address}” stands twice, so that a reference to it has two meanings."
    FHIR_ENTRY_ADDRESS = "fhir.entry-address", "The address of this entry has to be {wanted}, as its resource."
    FHIR_NOT_USED = "fhir.not-used", "Nothing in the order leads to “{address}”: it would be lost."
    FHIR_ONE_ORGANISATION = "fhir.one-organisation", "This token places orders for several organisations: use one that is of one."
    FHIR_ANOTHER_SUBJECT = "fhir.another-subject", "This belongs to another patient than the order."
    FHIR_TEST_CODE = "fhir.test-code", "Exactly one code of the system {system} is needed: the test of the laboratory."
    FHIR_TEST_UNKNOWN = "fhir.test-unknown", "No test that can be ordered has this code; GET /api/v1/tests lists them."
    FHIR_TEST_AMBIGUOUS = "fhir.test-ambiguous", "Several laboratories offer this test: name one as performer, under {system}."
    FHIR_PERFORMER = "fhir.performer", "A laboratory is named by an identifier of the system {system}, with its code."
    FHIR_REQUESTER = "fhir.requester", "Who asks is named by the number of an active provider of the ordering organisation."
    FHIR_ANOTHER_TEST = "fhir.another-test", "This upload was checked for another test."
    FHIR_FILE_DIFFERS = "fhir.file-differs", "The file that arrived, of {size} bytes, is not the one that size or hash tell of."
    FHIR_SEARCH_NOTHING = "fhir.search-nothing", "Say what to search for: one of {names}."
    FHIR_SEARCH_UNKNOWN = "fhir.search-unknown", "{kind} is not searched by “{name}” here, but by: {names}."
    FHIR_SEARCH_VALUE = "fhir.search-value", "The parameter “{name}” cannot be used as it stands, or stands more than once."
    FHIR_CONDITION = "fhir.condition", "The one condition that is understood is the order's own number: identifier={number}."
    FHIR_WAITING = "fhir.waiting", "The order is kept. Its file is being checked; it is placed as soon as that has ended well."
    FHIR_PLACED = "fhir.placed", "The order is placed."
    FHIR_FILE_REFUSED = "fhir.file-refused", "Nothing in the file can be scored."
    FHIR_FILE_WITHDRAWN = "fhir.file-withdrawn", "The upload that this order names was withdrawn before its check ended."
    FHIR_CANNOT_PLACE = "fhir.cannot-place", "Three attempts to place the order failed by a fault of ours. Tell the laboratory."
    FHIR_REPLACED = "fhir.replaced", "The sender has sent the order again, mended."
    FHIR_CLOSED = "fhir.closed", "A person closed it before it became an order, and says why."

    # Questions about plain sequences.
    QUESTION_INVALID = "question.invalid", "Some of the question has to be corrected."
    QUESTION_CONFLICT = "question.conflict", "Question {question} was asked already from this form, with other content."
    QUESTION_CANCELLED = "question.cancelled", "The question was cancelled."
    QUESTION_NOT_ANSWERED = "question.not-answered", "The question is not answered yet, or was cancelled."


ALL: tuple[ReasonCode, ...] = (*FileReason, *Reason)
WORDS = {str(reason): reason.words for reason in ALL}
_BY_CODE = {str(reason): reason for reason in ALL}

RETIRED: frozenset[str] = frozenset()
"""Codes that once had a meaning and are never given another."""


def known(code: str) -> ReasonCode:
    """The reason with this code; a KeyError where there is none."""
    return _BY_CODE[code]


def page() -> str:
    """docs/reason-codes.md; write it anew with `PYTHONPATH=platform python -m foundation.reasons > docs/reason-codes.md`."""
    rows = [f"| `{reason}` | {reason.words.replace('|', chr(92) + '|')} |" for reason in sorted(ALL)]
    retired = [f"| `{code}` | retired |" for code in sorted(RETIRED)]
    return "\n".join([PREFACE, "| code | words |", "|---|---|", *rows, *retired, ""])


if __name__ == "__main__":
    sys.stdout.write(page())
