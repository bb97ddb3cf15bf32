"""A refused request of a company's backend, as the log keeps it."""

from django.utils import timezone

from accounts.models import Company
from api.models import ApiRequest
from catalogue.ids import request_id


def create_request(company: Company) -> ApiRequest:
    return ApiRequest.objects.create(
        company=company,
        api_key=company.api_keys.first(),
        mode="live",
        request_id=request_id(),
        method="POST",
        path="/otp/send",
        status=422,
        code="invalid_input",
        fields=["phone"],
        duration=12,
        phone="+7999•••••00",
        created_at=timezone.now(),
    )
