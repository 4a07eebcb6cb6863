"""Log in and out."""

from typing import Any

from django.contrib.auth.views import LoginView, LogoutView
from django.http import HttpRequest, HttpResponse

from dashboard import sessions


class Login(LoginView):
    """E-mail address and password; pasting and password managers are welcome."""

    template_name = "registration/login.html"
    redirect_authenticated_user = True


class Logout(LogoutView):
    """By POST only. Open sockets of the session end with it."""

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        key = request.session.session_key
        response = super().post(request, *args, **kwargs)
        sessions.ended(key)
        return response
