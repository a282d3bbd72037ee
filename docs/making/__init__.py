"""What makes the generated pages of the site: theory by subject, gallery, API reference."""
