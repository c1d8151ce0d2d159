"""What a memory holds as a whole, for programs and pages: pages of a listing, tallies, runs."""
