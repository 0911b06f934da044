"""What people would rather fill in than type: forms made from the interface, and panels to browse what there is."""
