from django.urls import path

from persons.web import deletion_views, export_views

urlpatterns = [
    path("settings/delete", deletion_views.company_delete, name="company-delete"),
    path("settings/keep", deletion_views.company_keep, name="company-keep"),
    path("settings/export", export_views.company_export, name="company-export"),
    path(
        "settings/export/<uuid:pk>",
        export_views.company_export_status,
        name="company-export-status",
    ),
    path(
        "settings/export/<uuid:pk>/zip", export_views.company_export_zip, name="company-export-zip"
    ),
    path(
        "settings/export/<uuid:pk>/delete",
        export_views.company_export_delete,
        name="company-export-delete",
    ),
]
