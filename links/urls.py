from django.urls import path

from links import cabinet, listing, stop_pages
from links.settings_page import link_settings

urlpatterns = [
    path("links", listing.link_list, name="link-list"),
    path("links.csv", listing.link_export, name="link-export"),
    path("links/new", cabinet.link_create, name="link-create"),
    path("links/stop", stop_pages.links_stop, name="link-stop-all"),
    path("links/release", stop_pages.links_release, name="link-release-all"),
    path("links/batches/<str:public_id>/stop", stop_pages.batch_stop, name="link-batch-stop"),
    path(
        "links/batches/<str:public_id>/release",
        stop_pages.batch_release,
        name="link-batch-release",
    ),
    path("links/<str:public_id>", cabinet.link_detail, name="link-detail"),
    path("links/<str:public_id>/edit", cabinet.link_edit, name="link-edit"),
    path("links/<str:public_id>/disable", cabinet.link_disable, name="link-disable"),
    path("links/<str:public_id>/enable", cabinet.link_enable, name="link-enable"),
    path("links/<str:public_id>/qr.svg", cabinet.link_qr, {"kind": "svg"}, name="link-qr-svg"),
    path("links/<str:public_id>/qr.png", cabinet.link_qr, {"kind": "png"}, name="link-qr-png"),
    path("settings/links", link_settings, name="link-settings"),
]
