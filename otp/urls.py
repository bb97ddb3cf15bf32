from django.urls import path

from otp import previews

urlpatterns = [path("settings/preview", previews.settings_preview, name="settings-preview")]
