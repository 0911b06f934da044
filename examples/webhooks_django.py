"""Receive webhooks with Django, in one file: `python -m examples.webhooks_django runserver`, or the application under
gunicorn.

Handlers run in the thread of the delivery. A failed one is tried again at a later delivery; to have it tried in time,
run `inbox.running()` in a process of its own, as the Flask example does.
"""

import sys

from django.conf import settings
from django.core.management import execute_from_command_line
from django.core.wsgi import get_wsgi_application
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.urls import path
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST

from examples.ledger import books, inbox


@csrf_exempt  # the signature proves who sent it
@require_POST
def webhooks(request: HttpRequest) -> HttpResponse:
    """Store a delivery, and acknowledge it."""
    return HttpResponse(status=inbox.respond(request.headers, request.body))


def show_books(_: HttpRequest) -> JsonResponse:
    """Return what each transaction posted, in cents."""
    return JsonResponse(books())


urlpatterns = [path("webhooks", webhooks), path("books", show_books)]
settings.configure(ROOT_URLCONF=__name__, ALLOWED_HOSTS=["127.0.0.1", "localhost"], SECRET_KEY="nothing is signed here")
application = get_wsgi_application()

if __name__ == "__main__":
    execute_from_command_line(sys.argv)
