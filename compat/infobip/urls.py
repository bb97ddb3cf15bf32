from django.urls import path

from compat.infobip import views

APPLICATION = "2fa/2/applications/<application>"
PIN = "2fa/2/pin/<pin>"

urlpatterns = [
    path("2fa/2/applications", views.Applications.as_view()),
    path(APPLICATION, views.Application.as_view()),
    path(f"{APPLICATION}/messages", views.Messages.as_view()),
    path(f"{APPLICATION}/messages/<message>", views.Message.as_view()),
    path(f"{APPLICATION}/verifications", views.Statuses.as_view()),
    path("2fa/2/pin", views.Pins.as_view()),
    path(f"{PIN}/verify", views.Verify.as_view()),
    path(f"{PIN}/resend", views.Resend.as_view()),
    path("2fa/2/pin/<way>", views.OtherChannel.as_view()),
    path(f"{PIN}/resend/<way>", views.OtherChannel.as_view()),
    path(f"{APPLICATION}/email/messages", views.OtherChannel.as_view()),
]
