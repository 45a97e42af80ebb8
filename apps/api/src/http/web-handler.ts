import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { ReadableStream } from 'node:stream/web'
import { OncueError } from '@oncue/core'
import type { FastifyInstance, InjectOptions } from 'fastify'

/** Between Node's requests and responses and those of the web. */

/** Headers of one connection, not of the response. */
const OF_CONNECTION = new Set(['connection', 'date', 'keep-alive', 'transfer-encoding'])
const WITHOUT_BODY = new Set([101, 204, 205, 304])

/** Of the web, without the types of a browser. */
type ResponseBody = ConstructorParameters<typeof Response>[0]

/** Serves one request at `path`, and streams the response. Both end when the caller leaves. */
export async function serveWeb(app: FastifyInstance, request: Request, path: string): Promise<Response> {
  const gone = new AbortController()
  if (request.signal.aborted) gone.abort()
  request.signal.addEventListener('abort', () => gone.abort(), { once: true })
  const { body } = request
  const headers: Record<string, string> = Object.fromEntries(withHost(request))
  if (body !== null && headers['content-length'] === undefined) headers['transfer-encoding'] = 'chunked'
  const answered = await app.inject({
    method: request.method as NonNullable<InjectOptions['method']>,
    url: path,
    headers,
    ...(body !== null && { payload: Readable.fromWeb(body as ReadableStream) }),
    payloadAsStream: true,
    signal: gone.signal,
  })
  const stream = answered.stream()
  // Nothing reads on: the handler has to hear of it.
  stream.once('close', () => gone.abort())
  const { statusCode: status } = answered
  const isEmpty = WITHOUT_BODY.has(status) || request.method === 'HEAD'
  if (isEmpty) stream.resume()
  const content = isEmpty ? null : (Readable.toWeb(stream) as ResponseBody)
  return new Response(content, { status, headers: headersOf(answered.headers) })
}

function headersOf(given: Readonly<Record<string, number | string | string[] | undefined>>): Headers {
  const headers = new Headers()
  for (const [name, value] of Object.entries(given)) {
    if (value === undefined || OF_CONNECTION.has(name)) continue
    for (const each of Array.isArray(value) ? value : [value]) headers.append(name, String(each))
  }
  return headers
}

/** Serves one of Node's requests, until its response has been sent or its caller has left. */
export async function serveNode(
  app: FastifyInstance,
  request: IncomingMessage & { readonly body?: unknown },
  response: ServerResponse,
  path: string,
): Promise<void> {
  const { headers, readableEnded, body } = request
  const hasBody = headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
  if (readableEnded && hasBody) {
    if (body === undefined) throw wasRead()
    return writeResponse(await serveWeb(app, withBody(request, response, body), path), response)
  }
  const closed = once(response, 'close')
  request.url = path
  app.routing(request, response)
  await closed
}

/** A parser of the host application was here before: what it has made of the body is written again. */
function withBody(request: IncomingMessage, response: ServerResponse, body: unknown): Request {
  const gone = new AbortController()
  response.once('close', () => gone.abort())
  const head = headOf(request)
  const headers = new Headers(head.headers)
  headers.delete('content-length')
  return new Request(head, { headers, body: JSON.stringify(body), signal: gone.signal })
}

const wasRead = () =>
  new OncueError('INTERNAL', 'The host application has read the body of the request, and has not kept it', {
    hint: 'Mount Oncue before what parses bodies.',
  })

/** What is known of a request before its body is read. */
export function headOf(request: IncomingMessage): Request {
  const { headers, method = 'GET', socket } = request
  // Express and NestJS shorten `url` to what follows their own path.
  const { originalUrl = request.url ?? '/' } = request as { originalUrl?: string }
  const protocol = 'encrypted' in socket ? 'https' : 'http'
  try {
    const given = Object.entries(headers).flatMap(([name, value]) =>
      value === undefined || name.startsWith(':') ? [] : [[name, String(value)] as [string, string]],
    )
    const host = headers.host ?? headers[':authority'] ?? 'localhost'
    return new Request(`${protocol}://${host}${originalUrl.replace(/^\/*/, '/')}`, { method, headers: given })
  } catch (cause) {
    throw new OncueError(
      'INVALID_INPUT',
      'The request has a method, an address or a header that is not valid',
      {
        cause,
      },
    )
  }
}

/** Requests that a program makes have no Host. */
export function withHost({ headers, url }: Request): Headers {
  const known = new Headers(headers)
  if (!known.has('host')) known.set('host', new URL(url).host)
  return known
}

export async function writeResponse(from: Response, to: ServerResponse): Promise<void> {
  to.statusCode = from.status
  for (const [name, value] of from.headers) to.setHeader(name, value)
  if (from.body === null) return void to.end()
  // The caller may leave before the end.
  await pipeline(Readable.fromWeb(from.body as ReadableStream), to).catch(() => {})
}
