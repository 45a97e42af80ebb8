import { serve } from '@hono/node-server'
import { Hono } from 'hono'
import { BASE_PATH, endWith, open } from './oncue.js'

const opened = await open(process.argv[2])
const app = new Hono()
app.all(`${BASE_PATH}/*`, (c) => opened.oncue.fetch(c.req.raw))
app.post('/count', async (c) =>
  c.json({ jobId: await opened.queue.enqueue('count', await c.req.json()) }, 202),
)
const server = serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }, ({ port }) =>
  process.stdout.write(`http://127.0.0.1:${port}\n`),
)
endWith(opened, () => new Promise((resolve) => server.close(resolve)))
