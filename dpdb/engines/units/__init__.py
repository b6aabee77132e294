"""Privacy units: whose each row is, and which rows of a unit are held and count."""
