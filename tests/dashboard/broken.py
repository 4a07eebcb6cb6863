"""Addresses of a platform with a fault in one page."""

from django.urls import path

from config.urls import urlpatterns as real


def fault(request):
    raise ZeroDivisionError("secret detail")


urlpatterns = [*real, path("broken", fault)]
