from django.urls import path

from compat.vonage import views

TEMPLATE = "v2/verify/templates/<template>"
templates = views.Templates.as_view()

urlpatterns = [
    path("v2/verify", views.Requests.as_view()),
    path("v2/verify/", views.Requests.as_view()),
    path("v2/verify/templates", templates),
    path(TEMPLATE, templates),
    path(f"{TEMPLATE}/template_fragments", templates),
    path(f"{TEMPLATE}/template_fragments/<fragment>", templates),
    path("v2/verify/<request_id>", views.Verification.as_view()),
    path("v2/verify/<request_id>/next_workflow", views.NextWorkflow.as_view()),
]
