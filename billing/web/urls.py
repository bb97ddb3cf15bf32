from django.urls import path

from billing.web import auto_top_up_views as auto_views
from billing.web import budget_views, document_views, order_views, views
from cabinet.csv_export_views import csv_export

urlpatterns = [
    path("settings/budgets", budget_views.budget_edit, name="budget-edit"),
    path("balance", views.balance, name="balance"),
    path("balance/quote", views.quote_tokens, name="balance-quote"),
    path("balance/alert", views.change_low_balance, name="balance-alert"),
    path("balance/alerts/add", views.alert_add, name="balance-alert-add"),
    path("balance/alerts/<int:pk>/remove", views.alert_remove, name="balance-alert-remove"),
    path("balance/statement", views.statement, name="balance-statement"),
    path("balance/statement.csv", csv_export, {"kind": "statement"}, name="balance-csv"),
    path("balance/seals", document_views.seals, name="balance-seals"),
    path("balance/seals/check", document_views.statement_checked, name="statement-check"),
    path("balance/documents", document_views.document_list, name="document-list"),
    path("balance/documents/statement.pdf", document_views.period_pdf, name="period-pdf"),
    path("balance/documents/statement.csv", document_views.period_csv, name="period-csv"),
    path(
        "balance/documents/reconciliation.pdf",
        document_views.reconciliation_pdf,
        name="reconciliation-pdf",
    ),
    path(
        "balance/documents/<str:public_id>.<str:kind>",
        document_views.document_file,
        name="document-download",
    ),
    path(
        "balance/documents/<str:public_id>/send", document_views.document_send, name="document-send"
    ),
    path("balance/heads.json", document_views.heads, name="balance-heads"),
    path("balance/requisites", views.profile, name="balance-profile"),
    path("balance/automatic", auto_views.automatic, name="balance-automatic"),
    path("balance/automatic/pay", auto_views.automatic_pay, name="balance-automatic-pay"),
    path("balance/automatic/off", auto_views.automatic_off, name="balance-automatic-off"),
    path("balance/automatic/resume", auto_views.automatic_resume, name="balance-automatic-resume"),
    path("balance/automatic/method", auto_views.method_remove, name="balance-method-remove"),
    path("balance/top-ups", order_views.order_list, name="balance-order-list"),
    path("balance/top-ups/<str:public_id>", order_views.order_detail, name="balance-order"),
    path(
        "balance/top-ups/<str:public_id>/status",
        order_views.order_status,
        name="balance-order-status",
    ),
    path(
        "balance/top-ups/<str:public_id>/cancel",
        order_views.order_cancel,
        name="balance-order-cancel",
    ),
    path(
        "balance/top-ups/<str:public_id>/invoice.pdf",
        order_views.invoice_pdf,
        name="balance-invoice",
    ),
]
