"""Classes of records, how long each is kept where a laboratory says nothing else, and the least it may say.

Two years are what 42 CFR 493.1105 asks for test reports and records of analysis; tests in the house may need more. The same numbers
stand in the database (`retention_days`, and the check of a rule), which is what counts.
"""

from dataclasses import dataclass

MOST_DAYS = 36_525  # a hundred years


@dataclass(frozen=True)
class RecordClass:
    """Records that go together when their period is over."""

    code: str
    name: str
    holds: str  # what is deleted together
    since: str  # from when the period runs
    days: int  # by default
    floor: int
    source: str  # rows that are over, oldest first: id, organisation, a name for people, since, what blocks it


CLASSES = (
    RecordClass(
        "orders", "Orders with their reports",
        "the order, its specimen, input, runs and results, reviews, report versions, signatures and documents,"
        " deliveries and calls, comments and files",
        "its report was last issued, or it was cancelled or rejected", 3653, 731,
        "SELECT o.id, o.performing_laboratory_id, o.accession, retention_since(o), retention_blocks(o) FROM orders_order o"
        " WHERE o.placed_at <= clock_timestamp() + %(ahead)s - interval '731 days'"
        " AND retention_over(o.performing_laboratory_id, 'orders', retention_since(o) - %(ahead)s)",
    ),
    RecordClass(
        "uploads", "Uploads that nothing was ordered on", "the file, its verdict and what was read from it",
        "it was checked", 30, 7,
        "SELECT i.id, i.performing_laboratory_id, i.filename, GREATEST(i.checked_at, i.created_at), array_remove(ARRAY["
        "CASE WHEN retention_held(i.performing_laboratory_id, NULL, NULL, i.created_at) THEN 'legal-hold' END,"
        " CASE WHEN EXISTS (SELECT 1 FROM casefile_draft WHERE intake_id = i.id) THEN 'draft' END], NULL) FROM orders_intake i"
        " WHERE i.state NOT IN ('waiting', 'checking')"
        " AND retention_over(i.performing_laboratory_id, 'uploads', GREATEST(i.checked_at, i.created_at) - %(ahead)s)"
        " AND NOT EXISTS (SELECT 1 FROM orders_order WHERE intake_id = i.id)"
        " AND NOT EXISTS (SELECT 1 FROM interop_fhirorder WHERE intake_id = i.id)"
        " AND NOT EXISTS (SELECT 1 FROM orders_manifestrow WHERE intake_id = i.id)",
    ),
    RecordClass(
        "drafts", "Drafts of orders that have ended", "what was typed", "it was placed, discarded or ended by itself", 30, 7,
        "SELECT d.id, d.organisation_id, '', d.ended_at, array_remove(ARRAY[CASE WHEN retention_held(d.organisation_id, d.order_id,"
        " (SELECT patient_id FROM orders_order WHERE id = d.order_id), d.created_at) THEN 'legal-hold' END], NULL)"
        " FROM casefile_draft d WHERE d.state <> 'open' AND retention_over(d.organisation_id, 'drafts', d.ended_at - %(ahead)s)",
    ),
    RecordClass(
        "notices", "Notices", "what people were told, who read it, and what left by e-mail or webhook", "it was told", 731, 90,
        "SELECT n.id, n.organisation_id, n.kind, n.at, array_remove(ARRAY[CASE WHEN retention_held(n.organisation_id, n.order_id,"
        " (SELECT patient_id FROM orders_order WHERE id = n.order_id), n.at) THEN 'legal-hold' END, CASE WHEN EXISTS (SELECT 1 FROM"
        " notices_delivery WHERE notice_id = n.id AND state = 'queued') THEN 'delivery' END], NULL)"
        " FROM notices_notice n WHERE retention_over(n.organisation_id, 'notices', n.at - %(ahead)s)",
    ),
    RecordClass(
        "questions", "Questions about plain sequences", "the question, its run and its answer",
        "it was answered or cancelled", 731, 90,
        "SELECT q.id, q.organisation_id, q.first_name, q.ended_at, array_remove(ARRAY["
        "CASE WHEN retention_held(q.organisation_id, NULL, NULL, q.asked_at) THEN 'legal-hold' END,"
        " CASE WHEN q.attention <> '' THEN 'attention' END], NULL)"
        " FROM questions_question q WHERE retention_over(q.organisation_id, 'questions', q.ended_at - %(ahead)s)",
    ),
)  # fmt: skip
BY_CODE = {one.code: one for one in CLASSES}
DELETE = {"orders": "order", "uploads": "upload", "drafts": "draft", "notices": "notice", "questions": "question"}

BLOCKS = {
    "legal-hold": "a legal hold stands",
    "open": "it is still open",
    "attention": "it needs a person",
    "on-hold": "it is on hold, or somebody asked for that",
    "identity": "it is not decided who the patient is",
    "identity-decision": "a decision about who the patient is rests on it",
    "signatures": "a report version waits for signatures",
    "running": "it is still being computed",
    "linked": "another order replaces, repeats or contradicts it: that one goes first",
    "delivery": "its report or something about it was not delivered, or a correction was not acknowledged",
    "downtime": "a downtime that names it is not closed",
    "critical": "a call with a critical result is open",
    "draft": "a draft holds it: that one goes first",
}
