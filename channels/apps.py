from django.apps import AppConfig


class ChannelsConfig(AppConfig):
    name = "channels"
