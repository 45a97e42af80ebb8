# One image for all of Oncue; the arguments are a command of `oncue`: api, worker, migrate, list, …
#   docker build -t oncue .
#   docker run --env DATABASE_URL oncue worker --import ./jobs/jobs.ts
# A team that installs Oncue from npm needs less: see docs/guides/production.md.

# The Node that the repository brings. For another: --build-arg NODE_IMAGE=…
ARG NODE_IMAGE=node:24.21.0-bookworm-slim@sha256:0e0ff40c39bc087845bfb27465a0df4ea419520094bc35842ff83dd8cbe6f9b6

FROM ${NODE_IMAGE} AS build
WORKDIR /repo
RUN npm install --global pnpm@12.18.0
# What is installed changes less often than the source, and is kept as a layer of its own.
COPY package.json pnpm-lock.yaml pnpm-workspace.yaml ./
RUN pnpm fetch
COPY . .
# Every version comes from pnpm-lock.yaml, also of what the image runs with; nothing is resolved anew. Nothing optional
# is needed at run time; the compiler is a peer that types alone need.
RUN pnpm install --offline --frozen-lockfile \
  && pnpm exec turbo run build --filter oncue \
  && pnpm exec node scripts/release/bundle-app.ts \
  && pnpm exec node deploy/image/as-published.ts \
  && pnpm --filter @oncue/image deploy --prod --no-optional --offline --ignore-scripts /app \
  && rm -rf /app/node_modules/.pnpm/typescript@*

FROM ${NODE_IMAGE}
WORKDIR /app
ENV NODE_ENV=production \
  PATH=/app/node_modules/.bin:$PATH \
  ONCUE_HOST=0.0.0.0 \
  ONCUE_PORT=4400
COPY --from=build /app/node_modules ./node_modules
COPY deploy/image/healthcheck.mjs ./
USER node
EXPOSE 4400
# Asks the API whether it is ready. Workers serve nothing: they end themselves when they hang, and are started again.
HEALTHCHECK --interval=10s --timeout=5s --start-period=20s CMD ["node", "/app/healthcheck.mjs"]
# It becomes the Node process that is told to stop, and needs no init before it.
ENTRYPOINT ["oncue"]
CMD ["api"]
