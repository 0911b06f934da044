# A sandbox for other programs; docs/deployment.md says how to run it.
FROM python:3.12-slim
WORKDIR /app
COPY requirements/server.txt pyproject.toml README.md LICENSE ./
COPY workbench_pytest.py ./
COPY workbench workbench
RUN pip install --no-cache-dir --no-deps -r server.txt && pip install --no-cache-dir --no-deps --no-build-isolation .
RUN useradd --create-home sandbox && install -d -o sandbox /data
USER sandbox
VOLUME /data
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=5s --start-period=10s CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://localhost:8080/_sandbox/health')"]
ENTRYPOINT ["workbench", "sandbox", "serve", "--host", "0.0.0.0", "--port", "8080", "--db", "/data/sandbox.db", "--host-name", "sandbox", "--host-name", "localhost"]
