import { Agent, request } from 'node:http'

/** One kind of request, in the form of a contender. */
export interface Call {
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: (n: number) => string
  /** Throws unless the response says that everything was stored. */
  readonly check: (answer: string) => void
}

export interface Load {
  readonly ms: number
  /** The duration of each request, in milliseconds. */
  readonly latencies: readonly number[]
}

/** Sends that many requests over that many kept-alive connections, each waiting for its response. */
export async function send(url: string, call: Call, requests: number, connections: number): Promise<Load> {
  const agent = new Agent({ keepAlive: true, maxSockets: connections })
  const latencies: number[] = []
  let next = 0
  async function client(): Promise<void> {
    while (next < requests) {
      const body = call.body(next++)
      const start = performance.now()
      const answer = await post(agent, new URL(call.path, url), call.headers, body)
      latencies.push(performance.now() - start)
      call.check(answer)
    }
  }
  const start = performance.now()
  await Promise.all(Array.from({ length: connections }, client))
  const ms = performance.now() - start
  agent.destroy()
  return { ms, latencies }
}

function post(agent: Agent, url: URL, headers: Call['headers'], body: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const sent = request(
      url,
      {
        agent,
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          'content-length': Buffer.byteLength(body),
          ...headers,
        },
      },
      (response) => {
        let text = ''
        response.setEncoding('utf8')
        response.on('data', (chunk) => {
          text += chunk
        })
        response.on('end', () => resolve(text))
        response.on('error', reject)
      },
    )
    sent.on('error', reject)
    sent.end(body)
  })
}
