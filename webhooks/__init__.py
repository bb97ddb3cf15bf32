"""Companies' webhooks: events, endpoints, deliveries and their dispatcher, API and pages."""
