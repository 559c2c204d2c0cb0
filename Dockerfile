# One static binary on nothing: no shell, no root user; run it with a read-only
# root. The databases are elsewhere (compose.yaml), time zones in the binary.
FROM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 go build -buildvcs=false -trimpath -ldflags=-s -o /tenet ./cmd/tenet && mkdir /empty

FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build /tenet /tenet
# The one folder that it writes to: a file store, and the first keys.
COPY --from=build --chown=65532:65532 /empty /var/lib/tenet
USER 65532:65532
WORKDIR /var/lib/tenet
ENTRYPOINT ["/tenet"]
