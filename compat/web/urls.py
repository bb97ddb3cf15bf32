from django.urls import path

from compat.web import views

urlpatterns = [
    path("keys/client", views.client_lines, name="key-client"),
]
