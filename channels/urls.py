from django.urls import path

from channels import views

urlpatterns = [
    path("", views.overview, name="overview"),
    path("messages", views.message_list, name="message-list"),
    path("messages/<str:public_id>", views.message_detail, name="message-detail"),
    path("messages/<str:public_id>/status", views.message_status, name="message-status"),
]
