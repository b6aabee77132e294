"""Values of typed columns, as Arrow holds them, into the columns that cells become."""
