from django.urls import path

from compat.prelude import views

urlpatterns = [
    path("v2/verification", views.Verifications.as_view()),
    path("v2/verification/check", views.Checks.as_view()),
    path("v2/lookup/<phone>", views.Lookup.as_view()),
    path("v2/watch/feedback", views.Feedback.as_view()),
]
