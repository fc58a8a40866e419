# A small image that runs as a user without rights. Keys, backups and logs are in the volume /data.
FROM python:3.13-slim AS build
WORKDIR /source
COPY requirements.lock ./
RUN python -m venv /opt/dogubako && /opt/dogubako/bin/pip install --no-cache-dir --require-hashes \
    -r requirements.lock -c requirements.lock
COPY pyproject.toml README.md LICENSE THIRD-PARTY-NOTICES.md ./
COPY src ./src
RUN /opt/dogubako/bin/pip install --no-cache-dir --no-deps --no-build-isolation .

FROM python:3.13-slim
RUN useradd --create-home --uid 10001 dogubako && install -d -o dogubako -g dogubako -m 700 /data
COPY --from=build /opt/dogubako /opt/dogubako
ENV PATH=/opt/dogubako/bin:$PATH \
    HOST=0.0.0.0 \
    DOGUBAKO_AUTH=keys \
    DOGUBAKO_DATA_DIR=/data \
    LOG_DIR=/data/logs
USER dogubako
WORKDIR /home/dogubako
VOLUME /data
EXPOSE 3000
HEALTHCHECK --interval=30s --timeout=5s --start-period=20s \
  CMD ["python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:3000/healthz', timeout=4)"]
ENTRYPOINT ["dogubako"]
CMD ["serve"]
