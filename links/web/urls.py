from django.urls import path

from cabinet.csv_export_views import csv_export
from links.web import list_views, views

urlpatterns = [
    path("links", list_views.link_list, name="link-list"),
    path("links.csv", csv_export, {"kind": "links"}, name="link-export"),
    path("links/new", views.link_create, name="link-create"),
    path("links/stop", list_views.links_stop, name="link-stop-all"),
    path("links/release", list_views.links_release, name="link-release-all"),
    path("links/batches/<str:public_id>/stop", list_views.batch_stop, name="link-batch-stop"),
    path(
        "links/batches/<str:public_id>/release",
        list_views.batch_release,
        name="link-batch-release",
    ),
    path("links/import", list_views.link_import, name="link-import"),
    path("links/import/<uuid:pk>", list_views.import_detail, name="link-import-detail"),
    path("links/import/<uuid:pk>/status", list_views.import_status, name="link-import-status"),
    path("links/import/<uuid:pk>/start", list_views.import_start, name="link-import-start"),
    path("links/import/<uuid:pk>/discard", list_views.import_discard, name="link-import-discard"),
    path("links/import/<uuid:pk>/result.csv", list_views.import_result, name="link-import-csv"),
    path("links/<str:public_id>", views.link_detail, name="link-detail"),
    path("links/<str:public_id>/edit", views.link_edit, name="link-edit"),
    path("links/<str:public_id>/disable", views.link_disable, name="link-disable"),
    path("links/<str:public_id>/enable", views.link_enable, name="link-enable"),
    path("links/<str:public_id>/qr.svg", views.link_qr, {"kind": "svg"}, name="link-qr-svg"),
    path("links/<str:public_id>/qr.png", views.link_qr, {"kind": "png"}, name="link-qr-png"),
]
