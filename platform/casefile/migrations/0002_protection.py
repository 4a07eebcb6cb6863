"""Comments are written once; an attached file is withdrawn, never deleted; a draft that has ended stays ended."""

from django.db import migrations

from casefile.machines import ATTACHMENT, DRAFT
from foundation.protection import changeable, insert_only, pinned

DRAFT_COLUMNS = "organisation_id typed intake_id state version window saved_at expires_at ended_at order_id"


class Migration(migrations.Migration):
    dependencies = [("casefile", "0001_initial")]
    operations = [
        migrations.RunSQL(*DRAFT.trigger()),
        migrations.RunSQL(*ATTACHMENT.trigger()),
        migrations.RunSQL(*insert_only("casefile_comment")),
        migrations.RunSQL(*changeable("casefile_attachment", "state version withdrawn_by_id withdrawn_at withdrawn_reason")),
        migrations.RunSQL(*pinned("casefile_attachment", "withdrawn_by_id withdrawn_at withdrawn_reason", when="OLD.state <> 'kept'")),
        migrations.RunSQL(*changeable("casefile_draft", DRAFT_COLUMNS.replace("window", '"window"'))),
        migrations.RunSQL(*pinned("casefile_draft", "typed order_id ended_at", when="OLD.state <> 'open'")),
    ]
