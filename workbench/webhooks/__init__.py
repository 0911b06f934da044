"""Events received: verified, stored once, waited for, replayed, handled."""
