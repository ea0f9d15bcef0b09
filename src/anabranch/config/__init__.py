"""What users write: contexts and link files, found, read, checked and written; errors name file, field and fix."""
