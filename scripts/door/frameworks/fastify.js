import fastify from 'fastify'
import { BASE_PATH, endWith, open } from './oncue.js'

const opened = await open(process.argv[2])
const app = fastify()
await app.register(async (scope) => {
  scope.addHook('onRequest', async (request, reply) => {
    reply.hijack()
    await opened.oncue.node(request.raw, reply.raw)
  })
  for (const path of [BASE_PATH, `${BASE_PATH}/*`]) scope.all(path, async () => {})
})
app.post('/count', async ({ body }, reply) => {
  reply.code(202)
  return { jobId: await opened.queue.enqueue('count', body) }
})
process.stdout.write(`${await app.listen({ port: 0, host: '127.0.0.1' })}\n`)
endWith(opened, () => app.close())
