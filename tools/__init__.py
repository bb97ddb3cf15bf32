"""Programs for development, measurement and demonstration. No product code imports them."""
