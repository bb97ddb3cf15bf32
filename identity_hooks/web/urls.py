from django.urls import path

from identity_hooks.web import views

urlpatterns = [
    path("identity-servers", views.socket_list, name="socket-list"),
    path("identity-servers/new", views.socket_create, name="socket-create"),
    path("identity-servers/<int:pk>", views.socket_detail, name="socket-detail"),
    path("identity-servers/<int:pk>/edit", views.socket_edit, name="socket-edit"),
    path("identity-servers/<int:pk>/rotate", views.socket_rotate, name="socket-rotate"),
    path("identity-servers/<int:pk>/revoke", views.socket_revoke, name="socket-revoke"),
    path("identity-servers/<int:pk>/try", views.socket_try, name="socket-try"),
]
