"""Labels of specimens by their capital letters: a question is named like one in either case."""

from django.db import migrations
from django.db.models import Index
from django.db.models.functions import Upper


class Migration(migrations.Migration):
    dependencies = [("orders", "0025_period")]
    operations = [migrations.AddIndex("specimen", Index(Upper("identifier"), name="specimen_by_label_upper"))]
