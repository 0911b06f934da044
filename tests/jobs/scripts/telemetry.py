"""Trace calls with OpenTelemetry: spans follow its conventions, have the error, and pass the trace on to the service.

Needs: base + opentelemetry-sdk.
"""

from opentelemetry import propagate, trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import workbench as wb

exporter = InMemorySpanExporter()
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(exporter))
trace.set_tracer_provider(provider)
sandbox, sent = wb.Sandbox(), []


def pass_on(request):
    propagate.inject(request.headers)
    sent.append(request.headers["traceparent"])


with (
    wb.Client(
        base_url=sandbox.base_url,
        api_key=sandbox.full_key,
        transport=sandbox.transport(),
        http={"on_request": pass_on},
    ) as api,
    trace.get_tracer("application").start_as_current_span("checkout") as checkout,
):
    api.list_contracts()
    try:
        api.simulate_refund(transaction_id="3f2a0b1c-0000-4000-8000-000000000000", amount=wb.FULL)
    except wb.NotFound:
        pass
    trace_id = checkout.get_span_context().trace_id

read, refused, _ = exporter.get_finished_spans()
assert read.kind is trace.SpanKind.CLIENT
assert read.parent.span_id == refused.parent.span_id == checkout.get_span_context().span_id
assert read.attributes["http.request.method"] == "GET"
assert read.attributes["server.port"] == 443
assert read.attributes["server.address"] in sandbox.base_url
assert read.attributes["http.response.status_code"] == 200
assert "error.type" not in read.attributes
assert refused.attributes["error.type"] == "404"
assert refused.attributes["url.template"] == "/simulate/transactions/{transactionId}/refund"
assert [header.split("-")[1] for header in sent] == [f"{trace_id:032x}"] * 2, sent
assert sandbox.full_key not in str([span.to_json() for span in exporter.get_finished_spans()])
