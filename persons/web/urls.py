from django.urls import path

from persons.web import deletion_views

urlpatterns = [
    path("settings/delete", deletion_views.company_delete, name="company-delete"),
    path("settings/keep", deletion_views.company_keep, name="company-keep"),
]
