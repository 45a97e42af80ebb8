import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { post } from './post.ts'

async function serve(listener: RequestListener): Promise<URL> {
  const server = createServer(listener)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  return new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`)
}

const never = new AbortController().signal
const sent = { body: '{}', maxBytes: 1_000, signal: never }

it('returns the response', async () => {
  const url = await serve((request, response) => {
    response.writeHead(429, { 'retry-after': '7' }).end(request.headers['content-type'])
  })
  expect(await post({ ...sent, url })).toEqual({ status: 429, text: 'application/json', retryAfterMs: 7_000 })
})

it('follows no redirect', async () => {
  let requests = 0
  const url = await serve((_, response) => {
    requests += 1
    response.writeHead(307, { location: '/elsewhere' }).end()
  })
  expect(await post({ ...sent, url })).toMatchObject({ status: 307 })
  expect(requests).toBe(1)
})

it('times out without a response', async () => {
  const url = await serve(() => {})
  await expect(post({ ...sent, url, timeoutMs: 100 })).rejects.toThrow('no response within 0.1 s')
})

it('times out when the server switches protocols instead', async () => {
  const url = await serve(({ socket }) => {
    socket.write('HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: other\r\n\r\n')
  })
  await expect(post({ ...sent, url, timeoutMs: 100 })).rejects.toThrow('no response within 0.1 s')
})

it('does not wait for the end of an endless response', async () => {
  const url = await serve((_, response) => {
    response.writeHead(200)
    response.write('so far')
  })
  expect(await post({ ...sent, url, timeoutMs: 500 })).toMatchObject({ status: 200, text: 'so far' })
})

it('reads only the beginning of a huge response', async () => {
  let hungUp = false
  const url = await serve((_, response) => {
    response.writeHead(200)
    const more = () => {
      while (response.write(Buffer.alloc(65_536, 'x')));
    }
    response.on('drain', more).on('close', () => {
      hungUp = true
    })
    more()
  })
  const { status, text } = await post({ ...sent, url })
  expect([status, text.length]).toEqual([200, 1_000])
  await expect.poll(() => hungUp).toBe(true)
})

it('says why there is no response', async () => {
  const url = await serve((request) => request.socket.destroy())
  await expect(post({ ...sent, url })).rejects.toThrow('connection closed by the other side (ECONNRESET)')
  await expect(post({ ...sent, url: new URL('http://127.0.0.1:1/') })).rejects.toThrow(
    'connection refused (ECONNREFUSED)',
  )
})

it('can be aborted', async () => {
  const controller = new AbortController()
  const url = await serve(() => controller.abort(new Error('the server stops')))
  await expect(post({ ...sent, url, signal: controller.signal })).rejects.toThrow('the server stops')
})

it('connects to the address that its lookup returns', async () => {
  const { port } = await serve((request, response) => response.end(request.headers.host))
  const url = new URL(`http://pager.example:${port}/`)
  const answer = await post({
    ...sent,
    url,
    lookup: (_, { all }, callback) =>
      all ? callback(null, [{ address: '127.0.0.1', family: 4 }]) : callback(null, '127.0.0.1', 4),
  })
  expect(answer.text).toBe(`pager.example:${port}`)
})
