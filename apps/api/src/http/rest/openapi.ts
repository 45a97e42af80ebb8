import { ERRORS, type ErrorCode, LIMITS } from '@oncue/core'
import { errorResponseSchema, exchangePairingRequestSchema, signInRequestSchema } from '@oncue/core/wire'
import { z } from 'zod'
import type { Access } from '../../procedures/procedure.ts'
import type { KeyField } from './route.ts'
import { ROUTES, type Route } from './routes.ts'
import { restSignedInSchema } from './shapes.ts'

type Json = Record<string, unknown>

/** What any route may return. */
const COMMON: readonly ErrorCode[] = [
  'INVALID_INPUT',
  'UNAUTHORIZED',
  'FORBIDDEN',
  'HTTP_DISABLED',
  'RATE_LIMITED',
  'JWKS_UNAVAILABLE',
  'DATABASE_UNAVAILABLE',
  'DATABASE_BUSY',
  'INTERNAL',
]
/** Also for routes without a body, since a client may send one anyway. */
const CHANGE: readonly ErrorCode[] = [
  'INVALID_JSON',
  'UNSUPPORTED_MEDIA_TYPE',
  'PAYLOAD_TOO_LARGE',
  'DATABASE_FULL',
]

/** The OpenAPI document, derived from the routes that procedures declare. */
export function openApiDocument(): Json {
  const paths: Record<string, Json> = {}
  for (const route of ROUTES) {
    const path = route.path.replace(/:(\w+)/g, '{$1}')
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: descriptionOf(route) }
  }
  paths['/api/session'] = sessionPath()
  paths['/api/session/pair'] = {
    post: signIn('postSessionPair', 'Pair this browser', exchangePairingRequestSchema, ['PAIRING_REFUSED']),
  }
  return {
    openapi: '3.1.1',
    info: {
      title: 'Oncue',
      version: '1',
      description:
        'A job queue. Fields of requests have exactly the names that are listed here; bodies that enqueue jobs or begin a ' +
        'bulk operation take camelCase and snake_case. The fields of responses are snake_case; ' +
        'objects within them, such as `retry`, have the names of the SDK. ' +
        'TypeScript programs use the SDK instead.',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: '/' }],
    security: [{ token: [] }, { session: [] }],
    tags: [
      { name: 'jobs', description: 'Jobs of any topic' },
      { name: 'bulk', description: 'Actions on many jobs, in the background' },
      {
        name: 'commands',
        description: 'Jobs whose topic is `app:command`, in the vocabulary of command queues',
      },
      { name: 'failures', description: 'Runs that failed, by their error' },
      { name: 'alerts', description: 'What is wrong, and who knows about it' },
      { name: 'queues', description: 'Queues with jobs, settings or workers' },
      { name: 'topics', description: 'What workers announced' },
      { name: 'workers', description: 'Processes that run jobs' },
      { name: 'schedules', description: 'Jobs that are enqueued by a cron pattern' },
      { name: 'health', description: 'The state of the whole installation' },
      {
        name: 'session',
        description: 'For browsers: exchanges a token for a cookie that no script can read',
      },
    ],
    paths,
    components: {
      schemas: { Error: toJsonSchema(errorResponseSchema, 'output') },
      securitySchemes: {
        token: { type: 'http', scheme: 'bearer', description: 'An Oncue token, or a JWT' },
        session: {
          ...{ type: 'apiKey', in: 'cookie', name: '__Host-oncue_session' },
          description: 'Over http its name is oncue_session',
        },
      },
    },
  }
}

const RIGHTS: Readonly<Record<Access, string>> = {
  enqueue: 'Needs the right to enqueue.',
  read: 'Needs the right to read.',
  act: 'Needs the right to act.',
  edit: 'Needs the right to edit payloads.',
  admin: 'Needs the right to administer.',
  own: 'Needs the right to read; or to enqueue, for a job of a topic and in a queue that the token may enqueue.',
  anyone: 'Needs no right.',
}

function descriptionOf(route: Route): Json {
  const parameters = [...pathParameters(route), ...queryParameters(route), ...headerParameters(route)]
  return {
    operationId: operationIdOf(route),
    summary: route.summary,
    description: RIGHTS[route.procedure.access],
    tags: [route.path.split('/')[2] ?? ''],
    ...(parameters.length > 0 && { parameters }),
    ...(route.body && {
      requestBody: {
        required: true,
        content: {
          'application/json': { schema: toJsonSchema(route.body, 'input'), example: route.example },
        },
      },
    }),
    ...(Object.keys(route.fields).length > 0 && {
      requestBody: {
        required: false,
        content: { 'application/json': { schema: toJsonSchema(bodyOf(route), 'input') } },
      },
    }),
    responses: {
      ...responsesOf(route.responses),
      ...errorsOf([...COMMON, ...(route.method === 'GET' ? [] : CHANGE), ...route.errors]),
    },
  }
}

function bodyOf({ fields, bodyField }: Route): z.ZodType {
  return (bodyField === undefined ? undefined : fields[bodyField]) ?? z.strictObject(fields)
}

/** `postJobsIdRequeue` */
function operationIdOf({ method, path }: Route): string {
  const words = path.split(/\W+/).filter((word) => word !== '' && word !== 'api')
  return method.toLowerCase() + words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('')
}

/** The only routes that no procedure declares: they set cookies (`auth/session-routes.ts`). */
function sessionPath(): Json {
  return {
    post: signIn('postSession', 'Sign in', signInRequestSchema, []),
    delete: {
      operationId: 'deleteSession',
      summary: 'Sign out',
      tags: ['session'],
      responses: { ...responsesOf({ 204: null }), ...errorsOf([...COMMON, ...CHANGE]) },
    },
  }
}

function signIn(operationId: string, summary: string, body: z.ZodType, errors: readonly ErrorCode[]): Json {
  return {
    ...{ operationId, summary, tags: ['session'], security: [] },
    requestBody: {
      required: true,
      content: { 'application/json': { schema: toJsonSchema(body, 'input') } },
    },
    responses: {
      ...responsesOf({ 201: restSignedInSchema }),
      ...errorsOf([...COMMON, ...CHANGE, ...errors]),
    },
  }
}

const pathParameters = ({ params }: Route): Json[] =>
  Object.entries(params).map(([name, field]) => ({
    name,
    in: 'path',
    required: true,
    schema: toJsonSchema(field, 'input'),
  }))

const queryParameters = ({ query }: Route): Json[] =>
  Object.entries(query).map(([name, field]) => {
    if (name === 'meta') return META
    const { description, ...schema } = toJsonSchema(field, 'output')
    return { name, in: 'query', ...(description !== undefined && { description }), schema }
  })

/** `?meta.agent_id=a1`: free names, which OpenAPI can only describe as the fields of an object. */
const META: Json = {
  name: 'meta',
  in: 'query',
  description:
    'Filters by meta, as `meta.<name>=<value>`. 5 and true are a number and a boolean; "5" is a string.',
  style: 'form',
  explode: true,
  schema: {
    type: 'object',
    patternProperties: { '^meta\\.': { type: 'string' } },
    additionalProperties: false,
  },
}

const KEYS = {
  idempotencyKey: {
    description: 'A repeated call within a day returns the job of the first. The same as idempotencyKey.',
    maxLength: LIMITS.keyLength,
  },
  key: {
    description: 'Of several signals with the same name and key, the job gets one.',
    maxLength: LIMITS.signalNameLength,
  },
} as const satisfies Record<KeyField, Json>

function headerParameters({ idempotent }: Route): Json[] {
  if (idempotent === undefined) return []
  const { description, maxLength } = KEYS[idempotent]
  const schema = { type: 'string', minLength: 1, maxLength }
  return [{ name: 'Idempotency-Key', in: 'header', description, schema }]
}

function responsesOf(responses: Route['responses']): Json {
  const described = Object.entries(responses).map(([status, schema]) => [
    status,
    {
      description: DESCRIPTIONS[status] ?? 'Done',
      ...(schema && { content: { 'application/json': { schema: toJsonSchema(schema, 'output') } } }),
    },
  ])
  return Object.fromEntries(described)
}

const DESCRIPTIONS: Readonly<Record<string, string>> = {
  201: 'Stored',
  202: 'Accepted',
  204: 'Done, without a body',
  207: 'Some were rejected',
}

/** One response for each status; it names the codes that it may have. */
function errorsOf(errors: readonly ErrorCode[]): Json {
  const byStatus = new Map<number, Set<ErrorCode>>()
  for (const code of errors) {
    const { http } = ERRORS[code]
    byStatus.set(http, (byStatus.get(http) ?? new Set()).add(code))
  }
  return Object.fromEntries(
    [...byStatus].map(([status, codes]) => [
      status,
      {
        description: [...codes].join(', '),
        content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
      },
    ]),
  )
}

/** As JSON: dates are texts. */
function toJsonSchema(schema: z.ZodType, io: 'input' | 'output'): Json {
  const { $schema, ...json } = z.toJSONSchema(schema, {
    io,
    unrepresentable: 'any',
    override({ zodSchema, jsonSchema }) {
      if (zodSchema._zod.def.type === 'date')
        Object.assign(jsonSchema, { type: 'string', format: 'date-time' })
      // A long pattern that adds nothing to the format.
      if (jsonSchema.format === 'date-time') delete jsonSchema.pattern
    },
  })
  return json
}
