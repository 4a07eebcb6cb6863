"""What beat sends exists, in the part it belongs to."""

from config.celery import app


def test_every_periodic_task_is_registered_by_the_part_it_is_named_after() -> None:
    app.loader.import_default_modules()
    names = {str(entry["task"]) for entry in app.conf.beat_schedule.values()}
    assert {name: app.tasks[name].run.__module__ for name in names} == {name: f"{name.partition('.')[0]}.tasks" for name in names}
