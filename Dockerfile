# One static binary; the databases are elsewhere (compose.yaml).
FROM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 go build -buildvcs=false -trimpath -o /tenet ./cmd/tenet

FROM debian:12-slim
RUN useradd --create-home tenet
USER tenet
WORKDIR /home/tenet
COPY --from=build /tenet /usr/local/bin/tenet
ENTRYPOINT ["tenet"]
