# The command alone: one static binary.
#
#   docker build --tag pte-emit .
#   docker run --rm --volume "$PWD:/work" --user "$(id -u):$(id -g)" pte-emit check model.pte
FROM rust:1.95-alpine AS build
WORKDIR /source
COPY . .
RUN cargo build --profile dist --locked --bin pte-emit

FROM scratch
COPY --from=build /source/target/dist/pte-emit /pte-emit
WORKDIR /work
ENTRYPOINT ["/pte-emit"]
CMD ["--help"]
