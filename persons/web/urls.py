from django.urls import path

from persons.web import company_views

urlpatterns = [
    path("settings/delete", company_views.company_delete, name="company-delete"),
    path("settings/keep", company_views.company_keep, name="company-keep"),
    path("settings/export", company_views.company_export, name="company-export"),
    path(
        "settings/export/<uuid:pk>",
        company_views.company_export_status,
        name="company-export-status",
    ),
    path(
        "settings/export/<uuid:pk>/zip", company_views.company_export_zip, name="company-export-zip"
    ),
    path(
        "settings/export/<uuid:pk>/delete",
        company_views.company_export_delete,
        name="company-export-delete",
    ),
]
