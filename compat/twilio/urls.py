from django.urls import path

from compat.twilio import views

urlpatterns = [
    path("v2/Services", views.Services.as_view()),
    path("v2/Services/<service>", views.Service.as_view()),
    path("v2/Services/<service>/Verifications", views.Verifications.as_view()),
    path("v2/Services/<service>/Verifications/<sid>", views.Verification.as_view()),
    path("v2/Services/<service>/VerificationCheck", views.VerificationCheck.as_view()),
    path("v2/Attempts", views.Attempts.as_view()),
    path("v2/Attempts/Summary", views.Summary.as_view()),
    path("v2/Attempts/<sid>", views.Attempt.as_view()),
]
