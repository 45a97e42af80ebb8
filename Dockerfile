# One image for all of Oncue; the command says what it is: api, worker or migrate.
#   docker build -t oncue .
#   docker run --env DATABASE_URL oncue worker --import ./jobs/jobs.ts
# A team that installs Oncue from npm needs less: see docs/guides/production.md.

FROM node:24-slim AS build
WORKDIR /repo
RUN npm install --global pnpm@12.18.0
# What is installed changes less often than the source, and is kept as a layer of its own.
COPY package.json pnpm-lock.yaml pnpm-workspace.yaml ./
RUN pnpm fetch
COPY . .
RUN mkdir /packages && pnpm install --offline --frozen-lockfile \
  && pnpm exec turbo run build --filter @oncue/worker --filter @oncue/api \
  && pnpm exec node packages/sdk/scripts/bundle-app.ts \
  && for name in core db worker api; do pnpm --filter "@oncue/$name" pack --pack-destination /packages; done

# As a team would install it: the packages, and what they need at run time.
FROM node:24-slim AS install
WORKDIR /app
COPY --from=build /packages /packages
# Of what comes along, nobody compiles anything here.
RUN npm install --omit=dev --ignore-scripts --no-audit --no-fund /packages/*.tgz \
  && rm -rf node_modules/typescript node_modules/@typescript

FROM node:24-slim
WORKDIR /app
ENV NODE_ENV=production \
  PATH=/app/node_modules/.bin:$PATH \
  ONCUE_HOST=0.0.0.0 \
  ONCUE_PORT=4400
COPY --from=install /app/node_modules ./node_modules
USER node
EXPOSE 4400
# For the API. Workers serve nothing: they end themselves when they hang, and are started again.
HEALTHCHECK --interval=10s --timeout=5s --start-period=20s \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.ONCUE_PORT}/readyz`).then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
# `exec` makes Node the process that is told to stop; it needs no init before it.
ENTRYPOINT ["/bin/sh", "-c", "exec \"oncue-$0\" \"$@\""]
CMD ["api"]
