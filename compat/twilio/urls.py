from django.urls import path

from compat.twilio import views

urlpatterns = [
    path("v2/Services/<service>", views.Service.as_view()),
]
