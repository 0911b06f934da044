"""Read files of unknown origin (CSV, XLSX, JSON, NDJSON, Parquet) as rows of unconverted cells."""
