"""Report page, PDF and CSV."""

from django.urls import path

from reports import views

urlpatterns = [
    path("orders/<uuid:pk>/report/", views.page, name="report-page"),
    path("deliveries/<uuid:pk>/", views.delivery_page, name="report-delivery"),
    path("deliveries/<uuid:pk>.pdf", views.delivery_pdf, name="report-delivery-pdf"),
    path("orders/<uuid:pk>/report.pdf", views.pdf_file, name="report-pdf"),
    path("orders/<uuid:pk>/reports/<int:number>/", views.version_page, name="report-version"),
    path("orders/<uuid:pk>/reports/<int:number>.pdf", views.version_pdf, name="report-version-pdf"),
    path("orders/<uuid:pk>/reports/<int:number>.json", views.version_json, name="report-version-json"),
    path("orders/<uuid:pk>/reports/<int:number>.csv", views.version_csv, name="report-version-csv"),
    path("orders/<uuid:pk>/results.csv", views.results_csv, name="order-results.csv"),
]
