"""Programs around the product. No product code imports them."""
