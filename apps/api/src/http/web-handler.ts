import type { IncomingMessage, ServerResponse } from 'node:http'
import { finished as eos, Readable } from 'node:stream'
import { finished, pipeline } from 'node:stream/promises'
import { ByteLengthQueuingStrategy, ReadableStream } from 'node:stream/web'
import { OncueError } from '@oncue/core'
import type { FastifyInstance, InjectOptions } from 'fastify'
import { type HostCaller, hostCaller } from './host-caller.ts'

/** Between Node's requests and responses and those of the web. */

/** Headers of one connection, not of the response. */
const OF_CONNECTION = new Set(['connection', 'date', 'keep-alive', 'transfer-encoding'])
const WITHOUT_BODY = new Set([101, 204, 205, 304])
/** No address, so that none is recorded: by default that of this machine would be. */
const UNKNOWN = 'unknown'

/** Of the web, without the types of a browser. */
type ResponseBody = ConstructorParameters<typeof Response>[0]

/** As proxies log it: the caller has left, and reads no response. */
const CALLER_LEFT = 499

/** Serves one request at `path`, and streams the response. Both end when the caller leaves. */
export async function serveWeb(
  app: FastifyInstance,
  request: Request,
  path: string,
  caller: HostCaller,
): Promise<Response> {
  const gone = new AbortController()
  if (request.signal.aborted) return new Response(null, { status: CALLER_LEFT })
  request.signal.addEventListener('abort', () => gone.abort(), { once: true })
  // Not as an option of `inject`: it destroys a response that has no listener for the error yet.
  const inject = () => hostCaller.run({ ...caller, gone: gone.signal }, () => injectWeb(app, request, path))
  const answered = await inject().catch((error: unknown) => {
    if (gone.signal.aborted) return null
    throw error
  })
  const stream = answered?.stream()
  if (!answered || !stream || gone.signal.aborted) {
    // What the handler may still send, such as the result of a wait that has ended because of this.
    stream?.on('error', () => {}).resume()
    return new Response(null, { status: CALLER_LEFT })
  }
  // Nothing reads on: the handler has to hear of it.
  stream.once('close', () => gone.abort())
  const { statusCode: status } = answered
  const isEmpty = WITHOUT_BODY.has(status) || request.method === 'HEAD'
  if (isEmpty) stream.resume()
  const content = isEmpty ? null : (toWeb(stream) as ResponseBody)
  return new Response(content, { status, headers: headersOf(answered.headers) })
}

/** Like `Readable.toWeb`, which throws when a chunk is on its way to a reader who cancels. */
function toWeb(stream: Readable): ReadableStream<Uint8Array> {
  let isCancelled = false
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        stream.on('data', (chunk: Uint8Array) => {
          if (isCancelled) return
          controller.enqueue(chunk)
          if ((controller.desiredSize ?? 0) <= 0) stream.pause()
        })
        stream.pause()
        eos(stream, (error) => {
          if (isCancelled) return
          if (error) controller.error(error)
          else controller.close()
        })
      },
      pull: () => void stream.resume(),
      cancel() {
        isCancelled = true
        stream.destroy()
      },
    },
    new ByteLengthQueuingStrategy({ highWaterMark: stream.readableHighWaterMark }),
  )
}

async function injectWeb(app: FastifyInstance, request: Request, path: string) {
  const { method, body, bodyUsed } = request
  if (bodyUsed || body?.locked) throw wasRead()
  const headers: Record<string, string> = Object.fromEntries(withHost(request))
  if (body !== null && headers['content-length'] === undefined) headers['transfer-encoding'] = 'chunked'
  return app.inject({
    method: method as NonNullable<InjectOptions['method']>,
    url: path,
    headers,
    remoteAddress: UNKNOWN,
    ...(body !== null && { payload: Readable.fromWeb(body as ReadableStream) }),
    payloadAsStream: true,
  })
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
  caller: HostCaller,
): Promise<void> {
  const { headers, method, readableEnded, body } = request
  if (isAnswered(response)) return
  const isRead = method === 'GET' || method === 'HEAD'
  const hasBody = headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
  if (readableEnded && hasBody && !isRead) {
    if (body === undefined) throw wasRead()
    return writeResponse(await serveWeb(app, withBody(request, response, body), path, caller), response)
  }
  request.url = path
  hostCaller.run(caller, () => app.routing(request, response))
  // Rejects when the caller leaves.
  await finished(response).catch(() => {})
}

/** By the host application in the meantime, or never, since the caller has left. */
const isAnswered = ({ headersSent, destroyed }: ServerResponse) => headersSent || destroyed

/** A parser of the host application was here before: what it has made of the body is written again. */
function withBody(request: IncomingMessage, response: ServerResponse, body: unknown): Request {
  const gone = new AbortController()
  response.once('close', () => gone.abort())
  const head = headOf(request)
  const headers = new Headers(head.headers)
  headers.delete('content-length')
  const isRaw = typeof body === 'string' || body instanceof Uint8Array
  return new Request(head, {
    ...{ headers, signal: gone.signal },
    body: isRaw ? (body as NonNullable<ResponseBody>) : JSON.stringify(body),
  })
}

const wasRead = () =>
  new OncueError('INTERNAL', 'The host application has read the body of the request, and has not kept it', {
    hint: 'Mount Oncue before what parses bodies.',
  })

const HOST = /^[\w.:[\]-]+$/

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
    const host = String(headers.host ?? headers[':authority'] ?? 'localhost')
    // Its text would otherwise become part of the path.
    if (!HOST.test(host)) throw new TypeError('The header Host is not valid')
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
  if (isAnswered(to)) return from.body?.cancel()
  to.statusCode = from.status
  for (const [name, value] of from.headers) to.setHeader(name, value)
  if (from.body === null) return void to.end()
  // The caller may leave before the end.
  await pipeline(Readable.fromWeb(from.body as ReadableStream), to).catch(() => {})
}
