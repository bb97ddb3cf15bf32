from django.urls import path

from otp.web import previews, protection_views, send_views, text_views

urlpatterns = [
    path("send", send_views.send, name="send"),
    path("send/channels", send_views.send_channels, name="send-channels"),
    path("send/<str:public_id>", send_views.send_check, name="send-check"),
    path(
        "messages/<str:public_id>/evidence.json",
        send_views.message_evidence,
        name="message-evidence",
    ),
    path("settings/preview", previews.settings_preview, name="settings-preview"),
    path("protection", protection_views.protection, name="protection"),
    path("protection/mode", protection_views.protection_mode, name="protection-mode"),
    path(
        "protection/let-through",
        protection_views.protection_let_through,
        name="protection-let-through",
    ),
    path("protection/replay", protection_views.protection_replay, name="protection-replay"),
    path(
        "protection/replay/status",
        protection_views.protection_replay_status,
        name="protection-replay-status",
    ),
    path("protection/<int:pk>/lift", protection_views.protection_lift, name="protection-lift"),
    path("texts", text_views.text_list, name="text-list"),
    path("texts/new", text_views.text_create, name="text-create"),
    path("texts/preview", text_views.text_preview, name="text-preview"),
    path("texts/autofill", text_views.autofill_edit, name="autofill-edit"),
    path("texts/autofill/preview", text_views.autofill_preview, name="autofill-preview"),
    path("texts/<int:pk>", text_views.text_edit, name="text-edit"),
    path("texts/<int:pk>/delete", text_views.text_delete, name="text-delete"),
]
