"""What happens below the base class when a module is initialized, applied or bound."""
