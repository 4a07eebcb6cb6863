"""Addresses of a platform with a fault in one page."""

from django.urls import path

from config.urls import handler500 as handler500  # as the platform answers
from config.urls import urlpatterns as real


def fault(request):
    raise ZeroDivisionError("secret detail")


urlpatterns = [*real, path("broken", fault)]
