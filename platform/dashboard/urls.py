"""Pages people work with."""

from django.urls import URLPattern, URLResolver, path

from dashboard.views import audit, engine, new_order, notices, order, papers, session, turnaround, worklist

urlpatterns: list[URLPattern | URLResolver] = [
    path("", worklist.worklist, name="worklist"),
    path("worklist/live", worklist.worklist_live, name="worklist-live"),
    path("login/", session.Login.as_view(), name="login"),
    path("logout/", session.Logout.as_view(), name="logout"),
    path("orders/new/", new_order.order_new, name="order-new"),
    path("orders/new/draft", new_order.order_draft, name="order-draft"),
    path("orders/new/drafts/<uuid:pk>/discard", new_order.order_draft_discard, name="order-draft-discard"),
    path("orders/new/input", new_order.order_input, name="order-input"),
    path("intakes/<uuid:pk>/", new_order.intake, name="intake"),
    path("intakes/<uuid:pk>/finishes", new_order.intake_finishes, name="intake-finishes"),
    path("orders/<uuid:pk>/", order.order, name="order"),
    path("orders/<uuid:pk>/live", order.order_live, name="order-live"),
    path("orders/<uuid:pk>/cancel", order.order_cancel, name="order-cancel"),
    path("orders/<uuid:pk>/urgency", order.order_urgency, name="order-urgency"),
    path("orders/<uuid:pk>/repeat", new_order.order_repeat, name="order-repeat"),
    path("orders/<uuid:pk>/comments", papers.order_comments, name="order-comments"),
    path("orders/<uuid:pk>/files", papers.order_attachments, name="order-attachments"),
    path("orders/<uuid:pk>/files/<uuid:file>", papers.order_attachment, name="order-attachment"),
    path("orders/<uuid:pk>/files/<uuid:file>/withdraw", papers.order_attachment_withdraw, name="order-attachment-withdraw"),
    path("orders/<uuid:pk>/audit", audit.order_audit, name="order-audit"),
    path("orders/<uuid:pk>/audit.csv", audit.order_audit_csv, name="order-audit.csv"),
    path("orders/<uuid:pk>/delay", order.order_delay, name="order-delay"),
    path("notifications/", notices.inbox, name="notifications"),
    path("notifications/bell", notices.bell, name="bell"),
    path("notifications/read", notices.inbox_read, name="notifications-read"),
    path("webhooks/", notices.webhooks, name="webhooks"),
    path("clocks/", notices.clocks, name="clocks"),
    path("clocks/calendar", notices.calendar, name="calendar"),
    path("turnaround/", turnaround.turnaround, name="turnaround"),
    path("turnaround.csv", turnaround.turnaround_csv, name="turnaround.csv"),
    path("engine/", engine.engine, name="engine"),
    path("engine/live", engine.engine_live, name="engine-live"),
    path("engine/traces", engine.engine_trace, name="engine-trace"),
    path("engine/traces/<int:pk>.svg", engine.engine_picture, {"ending": "svg"}, name="engine-trace.svg"),
    path("engine/traces/<int:pk>.json", engine.engine_picture, {"ending": "json"}, name="engine-trace.json"),
]
