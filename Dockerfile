# A sandbox for other programs; docs/service.md says how to run it.
FROM python:3.12-slim
WORKDIR /app
COPY requirements/server.txt pyproject.toml README.md ./
COPY workbench workbench
RUN pip install --no-cache-dir --no-deps -r server.txt && pip install --no-deps --no-build-isolation . && useradd --create-home sandbox && install -d -o sandbox /data
USER sandbox
VOLUME /data
EXPOSE 8080
ENTRYPOINT ["workbench", "sandbox", "serve", "--host", "0.0.0.0", "--port", "8080", "--db", "/data/sandbox.db"]
CMD ["--host-name", "sandbox"]
