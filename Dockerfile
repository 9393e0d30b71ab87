# tare in a container, of the wheels in dist/ (make wheels):
#
#   docker build --tag tare .
#   docker run --rm tare run -n 10 -- true
#
# docs/how-to/image.md has what can be measured there. A base needs Python 3.11 or later with venv.
ARG BASE=python:3.13-slim
FROM ${BASE} AS build
COPY dist/ /dist/
# Without an index, dist/ has the wheels of the dependencies as well.
ARG PIP_NO_INDEX
RUN python3 -m venv /opt/tare \
    && /opt/tare/bin/pip install --no-cache-dir --only-binary tare-bench --find-links /dist tare-bench

FROM ${BASE}
COPY --from=build /opt/tare /opt/tare
RUN useradd --uid 1000 --create-home tare
ENV PATH=/opt/tare/bin:$PATH
USER tare
WORKDIR /home/tare
ENTRYPOINT ["tare"]
