"""Orders: patients, specimens, intake and the orders placed on it."""
