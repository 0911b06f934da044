"""Values: how they are read, checked, masked and stored; what every package uses."""
