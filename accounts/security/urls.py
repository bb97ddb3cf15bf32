from django.urls import path

from accounts.security import views

urlpatterns = [
    path("sessions/", views.session_list, name="session-list"),
    path("sessions/<int:pk>/end/", views.session_end, name="session-end"),
    path("sessions/end-others/", views.session_end_others, name="session-end-others"),
]
