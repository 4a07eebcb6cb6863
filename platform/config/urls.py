"""Every address of the platform."""

from django.urls import include, path

from config import error_pages, health

urlpatterns = [
    path("health/live", health.live, name="health-live"),
    path("health/ready", health.ready, name="health-ready"),
    path("", include("dashboard.urls")),
    path("", include("reports.urls")),
    path("api/v1/", include("interop.api.urls")),
    path("", include("interop.fhir.urls")),
]

handler400 = error_pages.bad_request
handler403 = error_pages.forbidden
handler404 = error_pages.not_found
handler500 = error_pages.failed
