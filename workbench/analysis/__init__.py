"""Tables, rewards, reports and charts."""
