import { serve } from '@hono/node-server'
import { createQueue } from 'oncue'
import { createApp } from './app.ts'
import { db, pool } from './db/client.ts'
import { jobs } from './jobs.ts'

const app = createApp(db, createQueue({ pool, jobs }))
const server = serve({ fetch: app.fetch, port: Number(process.env.PORT ?? 3000) }, ({ port }) =>
  console.log(`http://localhost:${port}`),
)

for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => server.close(() => void pool.end()))
