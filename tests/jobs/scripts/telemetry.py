"""Spans of OpenTelemetry, by its conventions.

Needs: base + opentelemetry-sdk.
"""

from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import workbench as wb

exporter = InMemorySpanExporter()
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(exporter))
trace.set_tracer_provider(provider)
with wb.connect() as api:
    api.list_contracts()
(span,) = exporter.get_finished_spans()
assert span.attributes["http.request.method"] == "GET" and span.attributes["server.port"] == 443
