"""What is taken for true: whose words count, what they do, what puts what out of date."""
