import type { IncomingMessage, ServerResponse } from 'node:http'
import { ERRORS, LIMITS, OncueError } from '@oncue/core'
import { cleanText } from '@oncue/core/internal'
import { allowedQueuesSchema, allowedTopicsSchema, type Role, roleSchema } from '@oncue/core/wire'
import { createLogger } from '@oncue/logger'
import { type Logger, type Runtime, systemRuntime } from '@oncue/runtime'
import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { ANONYMOUS, type Principal } from './auth/principal.ts'
import { assertSameOrigin } from './auth/same-origin.ts'
import { type MountSettings, readMountConfig } from './config.ts'
import { isOurFault, toOncueError, toPublicError } from './errors.ts'
import type { HostCaller } from './http/host-caller.ts'
import { createMountDoor } from './http/mount-door.ts'
import { MOUNTED_HEADERS } from './http/security-headers.ts'
import { isPage, PAGES } from './http/static-app.ts'
import { headOf, serveNode, serveWeb, withHost, writeResponse } from './http/web-handler.ts'
import { start } from './start.ts'

/** Who sends a request, as the host application knows it. */
export interface Person {
  /** Of the person, in that application. */
  readonly id: string
  /** As the audit shows it. Default: the id. */
  readonly name?: string | undefined
  readonly role: Role
  /** Topics that the person may enqueue. Absent or null: every topic. */
  readonly allowedTopics?: readonly string[] | null | undefined
  /** Queues that the person may enqueue into. Absent or null: every queue. */
  readonly allowedQueues?: readonly string[] | null | undefined
}

type Admitted = Person | null | undefined

/** Where the jobs are, who may do what, and where the app is mounted. */
export interface OncueAppOptions<Context = undefined> extends MountSettings {
  /** Where it is mounted, as in `/admin/jobs`; `/` for a host name of its own. */
  readonly basePath: string
  /** Called for every request. Null or undefined: not signed in, or not allowed. The request has no body here. */
  readonly authenticate: (request: Request, context: Context) => Admitted | Promise<Admitted>
  /** Where a page leads to without a person, as in `/login`. Default: status 401. */
  readonly signIn?: string | ((request: Request) => string) | undefined
  /** False: leaves alerts, notifications, bulk operations and retention to another process. Default: true. */
  readonly background?: boolean | undefined
  /** Default: Oncue's own log on standard output. */
  readonly log?: Logger | undefined
  /** For tests: replaces the clock, timers and chance. */
  readonly runtime?: Runtime | undefined
}

/** What `authenticate` gets beside the request: nothing, unless its second parameter has a type. */
type ContextOf<Context> = undefined extends Context ? [context?: Context] : [context: Context]

/** The app and the API, to be mounted in a server. */
export interface OncueApp<Context = undefined> {
  /** Opens the database. The first request does it, too; after a failure the next one tries again. */
  start(): Promise<void>
  /** For Hono, Next.js and all that speak Request and Response. */
  fetch(request: Request, ...context: ContextOf<Context>): Promise<Response>
  /** For Express, Fastify, NestJS and all that have Node's request and response. Resolves when the response has ended. */
  node(request: IncomingMessage, response: ServerResponse, ...context: ContextOf<Context>): Promise<void>
  /** Ends streams, finishes requests, then stops the rest. A second call waits for the first. */
  close(): Promise<void>
}

interface Running {
  readonly app: FastifyInstance
  close(): Promise<void>
}

/** The API and the app below a path of another server, for the people whom it has signed in. Starts nothing yet. */
export function oncueApp<Context = undefined>(options: OncueAppOptions<Context>): OncueApp<Context> {
  const { authenticate, signIn, background, runtime = systemRuntime } = options
  const basePath = readBasePath(options.basePath)
  const config = readMountConfig(options)
  const log = options.log ?? createLogger({ level: config.logLevel })
  const door = createMountDoor(runtime)
  let running: Promise<Running> | undefined
  let closing: Promise<void> | undefined

  async function open(): Promise<Running> {
    let app: FastifyInstance | undefined
    const { close } = await start(config, log, { background, runtime, basePath }, (built) => {
      app = built
      return door.over(built)
    })
    if (!app) throw new OncueError('INTERNAL', 'The API has started without routes')
    return { app, close }
  }

  async function run(): Promise<FastifyInstance> {
    if (closing) throw new OncueError('STORE_CLOSED', 'The mounted app was closed')
    running ??= open().catch((error: unknown) => {
      running = undefined
      throw error
    })
    return (await running).app
  }

  /** Asks the host, and serves. Returns a response that the API did not write itself. */
  async function admit<T>(
    head: Request,
    context: Context,
    serve: (app: FastifyInstance, path: string, caller: HostCaller) => Promise<T>,
  ): Promise<T | Response> {
    const path = pathBelow(basePath, head.url)
    const isRead = head.method === 'GET' || head.method === 'HEAD'
    const person = (await authenticate(head, context)) ?? null
    if (person === null && isRead && signIn !== undefined && isPage(path, head.headers.get('accept')))
      return redirect(typeof signIn === 'string' ? signIn : signIn(head))
    // Procedures of tRPC refuse in their own format, which streams need: those alone ask the API.
    if (person === null && !path.startsWith('/trpc/')) throw notSignedIn()
    const caller: HostCaller = person === null ? refuse(notSignedIn()) : toCaller(head, person, isRead)
    const app = await run().catch((error: unknown) => {
      throw caller.denied ?? error
    })
    return door.track(() => serve(app, path, caller))
  }

  function toCaller(head: Request, person: Person, isRead: boolean) {
    const principal = toPrincipal(person)
    if (isRead) return { principal }
    try {
      assertSameOrigin(withHost(head), config.publicUrl)
      return { principal }
    } catch (error) {
      return refuse(error)
    }
  }

  /** Of what went wrong before a route was found. */
  function failed(thrown: unknown): Response {
    const requestId = runtime.uuid()
    const known = toPublicError(thrown, requestId)
    if (isOurFault(known)) log.error({ requestId, err: toOncueError(thrown) }, 'request failed')
    return Response.json(
      { error: known.toJSON() },
      {
        status: ERRORS[known.code].http,
        headers: { ...MOUNTED_HEADERS, 'cache-control': 'no-store', 'x-request-id': requestId },
      },
    )
  }

  return {
    start: async () => void (await run()),

    async fetch(request, ...[context]) {
      return admit(request, context as Context, (app, path, caller) =>
        serveWeb(app, request, path, caller),
      ).catch(failed)
    },

    async node(request, response, ...[context]) {
      const answered = await (async () =>
        admit(headOf(request), context as Context, (app, path, caller) =>
          serveNode(app, request, response, path, caller),
        ))().catch(failed)
      if (answered) await writeResponse(answered, response)
    },

    close() {
      closing ??= (async () => {
        const opened = await running?.catch(() => undefined)
        await opened?.close()
      })()
      return closing
    },
  }
}

const BASE_PATH = /^(\/[\w.~-]+)*\/?$/

/** Without the slash at its end; empty at the root. */
function readBasePath(given: string): string {
  if (BASE_PATH.test(given)) {
    const basePath = given.replace(/\/$/, '')
    const page = basePath === '' ? undefined : PAGES.find((name) => `/${name}`.startsWith(basePath))
    if (page === undefined) return basePath
    throw new OncueError(
      'INVALID_INPUT',
      `basePath ${basePath} is how the address of a page of the app begins: /${page}`,
      {
        hint: 'The app could not tell them apart. Choose another path, such as /admin/jobs.',
      },
    )
  }
  throw new OncueError(
    'INVALID_INPUT',
    `basePath must be a path such as /admin/jobs, got ${JSON.stringify(given)}`,
  )
}

/** The path as the API knows it, with the query. */
function pathBelow(basePath: string, url: string): string {
  const { pathname, search } = new URL(url)
  const isBelow = pathname === basePath || pathname.startsWith(`${basePath}/`)
  if (!isBelow)
    throw new OncueError(
      'NOT_FOUND',
      `${pathname} is not below ${basePath || '/'}, the basePath of this API`,
      {
        hint: 'basePath is the whole path at which people reach it: with the prefix of a router around it.',
      },
    )
  return `${pathname.slice(basePath.length).replace(/^\/*/, '/')}${search}`
}

/** Checked, because a list that is a text would allow what its letters allow. */
const personSchema = z.object({
  id: z
    .string()
    .min(1)
    .max(LIMITS.keyLength)
    .refine((id) => cleanText(id) === id, 'has characters that databases do not store'),
  name: z.string().nullish(),
  role: roleSchema,
  allowedTopics: allowedTopicsSchema.default(null),
  allowedQueues: allowedQueuesSchema.default(null),
})

function toPrincipal(person: Person): Principal {
  const { data, error } = personSchema.safeParse(person)
  if (error)
    throw new OncueError('INTERNAL', `authenticate returned no valid person: ${z.prettifyError(error)}`, {
      hint: 'Return an id, a role and, if they are limited, lists of topics and queues; or null.',
    })
  const { id, name, role, allowedTopics, allowedQueues } = data
  const shown = cleanText((name || id).slice(0, LIMITS.keyLength))
  return {
    ...{ kind: 'host', id, name: shown, role },
    allowedTopics,
    allowedQueues,
    tokenId: null,
    expiresAt: null,
  }
}

const refuse = (denied: unknown) => ({ principal: ANONYMOUS, denied })

const notSignedIn = () =>
  new OncueError('UNAUTHORIZED', 'You are not signed in, or have no access', {
    hint: 'Sign in to the application in which Oncue is mounted, and load this page again.',
  })

const redirect = (to: string) =>
  new Response(null, { status: 303, headers: { location: to, 'cache-control': 'no-store' } })
