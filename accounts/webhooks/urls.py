from django.urls import path

from accounts.webhooks import views

urlpatterns = [
    path("webhooks", views.webhook_list, name="webhook-list"),
    path("webhooks/new", views.webhook_create, name="webhook-create"),
    path("webhooks/<str:public_id>", views.webhook_detail, name="webhook-detail"),
    path("webhooks/<str:public_id>/edit", views.webhook_edit, name="webhook-edit"),
    path("webhooks/<str:public_id>/switch", views.webhook_switch, name="webhook-switch"),
    path("webhooks/<str:public_id>/rotate", views.webhook_rotate, name="webhook-rotate"),
    path("webhooks/<str:public_id>/delete", views.webhook_delete, name="webhook-delete"),
    path("webhooks/<str:public_id>/test", views.webhook_test, name="webhook-test"),
    path("webhooks/<str:public_id>/replay", views.webhook_replay, name="webhook-replay"),
    path("deliveries/<str:public_id>", views.delivery_detail, name="delivery-detail"),
    path("deliveries/<str:public_id>/status", views.delivery_status, name="delivery-status"),
    path("deliveries/<str:public_id>/replay", views.delivery_replay, name="delivery-replay"),
]
