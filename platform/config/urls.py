"""Every address of the platform."""

from django.urls import include, path

from config import health

urlpatterns = [
    path("health/live", health.live, name="health-live"),
    path("health/ready", health.ready, name="health-ready"),
    path("", include("dashboard.urls")),
    path("", include("reports.urls")),
]
