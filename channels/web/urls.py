from django.urls import path

from cabinet.csv_export_views import csv_export
from channels.web import views
from channels.web.overview import views as overview
from channels.web.policy import views as policy_views

urlpatterns = [
    path("", overview.overview, name="overview"),
    path("overview.csv", overview.overview_csv, name="overview-csv"),
    path("quickstart", overview.overview_quickstart, name="overview-quickstart"),
    path("messages", views.message_list, name="message-list"),
    path("messages.csv", csv_export, {"kind": "messages"}, name="message-export"),
    path("messages/<str:public_id>", views.message_detail, name="message-detail"),
    path("messages/<str:public_id>/status", views.message_status, name="message-status"),
    path("policy", policy_views.policy, name="policy"),
    path("policy/savings", policy_views.policy_savings, name="policy-savings"),
    path("policy/new", policy_views.rule_create, name="policy-rule-create"),
    path("policy/<str:address>", policy_views.rule_edit, name="policy-rule-edit"),
    path("policy/<str:address>/delete", policy_views.rule_delete, name="policy-rule-delete"),
    path("test-phone", views.test_phone, name="test-phone"),
]
