"""People who follow each link that their phone got, once."""

from contextlib import suppress

import requests

from tools.chaos.traffic.log_follower import Arrival


class Visitors:
    def __init__(self) -> None:
        self.followed = 0
        self._session = requests.Session()

    def arrive(self, arrival: Arrival) -> None:
        for link in arrival.links:
            with suppress(requests.RequestException):
                answer = self._session.get(link, allow_redirects=False, timeout=10)
                self.followed += answer.is_redirect
