import express from 'express'
import { BASE_PATH, endWith, open } from './oncue.js'

const opened = await open(process.argv[2])
const app = express()
// Before Oncue, which gets bodies that are parsed.
app.use(express.json())
app.use(BASE_PATH, (request, response) => opened.oncue.node(request, response))
app.post('/count', async (request, response) => {
  response.status(202).json({ jobId: await opened.queue.enqueue('count', request.body) })
})
const server = app.listen(0, '127.0.0.1', () =>
  process.stdout.write(`http://127.0.0.1:${server.address().port}\n`),
)
endWith(opened, () => new Promise((resolve) => server.close(resolve)))
