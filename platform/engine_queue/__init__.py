"""Engine queue: item sets, runs, jobs, leases, results; the Celery worker that feeds the engine."""
