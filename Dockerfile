# docker build -t ddpsim . && docker run --rm -v "$PWD:/work" ddpsim sweep quickstart --plot sweep.svg
FROM debian:12 AS build
COPY . /src
RUN /src/scripts/deb /package && rm -rf /var/lib/apt/lists/*

FROM debian:12-slim
COPY --from=build /package /package
RUN apt-get update -qq \
 && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends /package/ddpsim_*.deb \
 && rm -rf /package /var/lib/apt/lists/*
WORKDIR /work
ENTRYPOINT ["ddpsim"]
