from django.apps import AppConfig


class CabinetConfig(AppConfig):
    name = "cabinet"

    def ready(self) -> None:
        from cabinet import search  # noqa: PLC0415 - models, once apps are ready

        search.register_company()
