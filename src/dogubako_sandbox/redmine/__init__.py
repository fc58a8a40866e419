"""An imitation of Redmine 5.0.4 inside our own process."""
