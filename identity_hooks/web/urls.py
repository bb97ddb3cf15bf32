from django.urls import path

from identity_hooks.web import views

urlpatterns = [
    path("identity-servers", views.hook_list, name="hook-list"),
    path("identity-servers/new", views.hook_create, name="hook-create"),
    path("identity-servers/<int:pk>", views.hook_detail, name="hook-detail"),
    path("identity-servers/<int:pk>/edit", views.hook_edit, name="hook-edit"),
    path("identity-servers/<int:pk>/rotate", views.hook_rotate, name="hook-rotate"),
    path("identity-servers/<int:pk>/revoke", views.hook_revoke, name="hook-revoke"),
    path("identity-servers/<int:pk>/try", views.hook_try, name="hook-try"),
]
