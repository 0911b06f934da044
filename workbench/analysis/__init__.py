"""Analysis of the service's data: tables and files, rewards, reports and charts."""
