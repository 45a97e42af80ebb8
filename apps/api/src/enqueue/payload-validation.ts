import { OncueError } from '@oncue/core'
import { formatPath, readPolicy, type TopicPolicy } from '@oncue/core/internal'
import type { Question, Settings } from '@oncue/core/wire'
import type { Store } from '@oncue/db'
import type { Logger, Runtime } from '@oncue/runtime'
import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { TtlCache } from '../ttl-cache.ts'

/** How old the announced schemas may be. */
const REFRESH_MS = 2_000
/** How many schemas of questions are kept. */
const MAX_QUESTIONS = 500

export interface PayloadValidation {
  /**
   * Checks a payload against the schema that a worker announced for its topic. A topic without a schema takes any payload:
   * its worker may not have started yet. The payload's depth has been checked before.
   */
  check(topic: string, payload: unknown, mode: Mode): Promise<void>
  /** For many payloads: reads the schemas once. */
  checker(mode: Mode): Promise<(topic: string, payload: unknown) => void>
  /** Checks a signal against what a worker announced: UNKNOWN_SIGNAL, INVALID_SIGNAL. Not if it announced nothing. */
  checkSignal(topic: string, name: string, data: unknown): Promise<void>
  /** Checks an answer against the schema that was stored with its question: INVALID_ANSWER. */
  checkAnswer(question: Pick<Question, 'topic' | 'schema'>, value: unknown): void
  /** What workers announced of topics: queue, priority, retries and timeout of jobs whose caller names none. */
  policies(): Promise<(topic: string) => TopicPolicy | undefined>
}

type Mode = Settings['payloadValidation']

type Options = {
  readonly store: Pick<Store, 'topics'>
  readonly log: Pick<Logger, 'warn'>
  readonly refreshMs?: number
  readonly runtime?: Runtime | undefined
}

/** The JSON text of its schema, and its policy. */
type Announced = {
  readonly schema: string
  readonly policy: TopicPolicy
  readonly signals: Readonly<Record<string, unknown>>
}

/** A compiled schema; null when it cannot be compiled. Kept until the text changes. */
type Known = { readonly text: string; readonly validate: ValidateFunction | null }

export function createPayloadValidation({
  store,
  log,
  refreshMs = REFRESH_MS,
  runtime,
}: Options): PayloadValidation {
  const schemas = createCompiler(log)
  let questions = createCompiler(log)
  const announced = new TtlCache<Map<string, Announced>>(refreshMs, 1, runtime)

  async function readTopics(): Promise<Map<string, Announced>> {
    const rows = await store.topics()
    return new Map(
      rows.map(({ topic, input, policy }) => [
        topic,
        { schema: JSON.stringify(input), policy: readPolicy(policy), signals: signalsOf(policy) },
      ]),
    )
  }

  async function checker(mode: Mode): ReturnType<PayloadValidation['checker']> {
    if (mode === 'off') return () => {}
    const known = await announced.get('', readTopics)
    return (topic, payload) => {
      const text = known.get(topic)?.schema
      const validate = text === undefined ? null : schemas.compile(topic, text)
      if (!validate || validate(payload)) return
      const { reason, path } = describeFault(validate.errors ?? [])
      const message = `${path}: ${reason} (schema of ${topic})`
      if (mode === 'reject') throw new OncueError('INVALID_PAYLOAD', message, { details: { topic, path } })
      log.warn({ topic, path }, `stored an invalid payload: ${message}`)
    }
  }

  async function checkSignal(topic: string, name: string, data: unknown): Promise<void> {
    const known = (await announced.get('', readTopics)).get(topic)
    if (!known) return
    const { signals } = known
    if (!Object.hasOwn(signals, name)) {
      const names = Object.keys(signals)
      const there =
        names.length > 0 ? `it has ${names.map((each) => JSON.stringify(each)).join(', ')}` : 'it has none'
      throw new OncueError('UNKNOWN_SIGNAL', `${topic} has no signal ${JSON.stringify(name)}: ${there}`)
    }
    const text = JSON.stringify(signals[name])
    assertFits(schemas.compile(topic, text, name), topic, data, 'signal')
  }

  /** Each job may have questions of its own: their schemas are known by their text, and forgotten when they are many. */
  function checkAnswer({ topic, schema }: Pick<Question, 'topic' | 'schema'>, value: unknown) {
    const text = JSON.stringify(schema)
    if (questions.size >= MAX_QUESTIONS) questions = createCompiler(log)
    assertFits(questions.compile(topic, text, text), topic, value, 'answer')
  }

  function assertFits(
    validate: ValidateFunction | null,
    topic: string,
    value: unknown,
    what: 'signal' | 'answer',
  ): void {
    if (!validate || validate(value)) return
    const { reason, path } = describeFault(validate.errors ?? [], what)
    const code = what === 'signal' ? 'INVALID_SIGNAL' : 'INVALID_ANSWER'
    throw new OncueError(code, `${path}: ${reason} (schema of ${topic})`, { details: { topic, path } })
  }

  return {
    checker,
    checkSignal,
    checkAnswer,
    check: async (topic, payload, mode) => (await checker(mode))(topic, payload),
    async policies() {
      const known = await announced.get('', readTopics)
      return (topic) => known.get(topic)?.policy
    },
  }
}

/** Compiles schemas, and keeps the last one of each topic, or of each of its parts. */
function createCompiler(log: Options['log']) {
  const ajv = createAjv()
  const compiled = new Map<string, Known>()

  function tryToCompile(topic: string, text: string): ValidateFunction | null {
    const schema = JSON.parse(text)
    try {
      return ajv.compile(schema)
    } catch (error) {
      log.warn(
        { topic, err: error },
        'announced schema does not compile; payloads of this topic are not validated',
      )
      return null
    } finally {
      // Ajv would keep every version, and refuse a second one with the same $id.
      if (typeof schema === 'object' && schema !== null) ajv.removeSchema(schema)
    }
  }

  return {
    get size() {
      return compiled.size
    },

    compile(topic: string, text: string, part = ''): ValidateFunction | null {
      const key = `${topic}\0${part}`
      const known = compiled.get(key)
      if (known?.text === text) return known.validate
      const validate = tryToCompile(topic, text)
      compiled.set(key, { text, validate })
      return validate
    },
  }
}

/** The schemas of signals in an announced policy. */
function signalsOf(policy: unknown): Readonly<Record<string, unknown>> {
  const { signals } = (policy ?? {}) as { readonly signals?: unknown }
  return typeof signals === 'object' && signals !== null ? (signals as Record<string, unknown>) : {}
}

function createAjv(): Ajv2020 {
  const ajv = new Ajv2020({
    // Unknown keywords and formats do not make a payload invalid.
    strict: false,
    logger: false,
    // As in zod, 0.29 is a multiple of 0.01.
    multipleOfPrecision: 9,
  })
  addFormats.default(ajv)
  // As in zod: what URL accepts, also beyond ASCII.
  ajv.addFormat('uri', (text) => URL.canParse(text))
  return ajv
}

/** The deepest fault: of several alternatives, the intended one matches furthest. Values are left out: they may be secret. */
function describeFault(errors: readonly ErrorObject[], what = 'payload'): { path: string; reason: string } {
  const [fault] = errors.toSorted((a, b) => depthOf(b) - depthOf(a))
  if (!fault) return { path: what, reason: 'is invalid' }
  return { path: formatPath(what, pathOf(fault)), reason: reasonOf(fault) }
}

const depthOf = ({ instancePath }: ErrorObject) => instancePath.split('/').length

function pathOf({ instancePath, params }: ErrorObject): (string | number)[] {
  const steps = instancePath
    .split('/')
    .slice(1)
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'))
    .map((step) => (/^\d+$/.test(step) ? Number(step) : step))
  const field = params.missingProperty ?? params.additionalProperty ?? params.unevaluatedProperty
  return field === undefined ? steps : [...steps, field]
}

function reasonOf({ keyword, message, params }: ErrorObject): string {
  switch (keyword) {
    case 'required':
      return 'is missing'
    case 'additionalProperties':
    case 'unevaluatedProperties':
      return 'is not a field of this topic'
    case 'enum':
      return `must be one of ${params.allowedValues.map((value: unknown) => JSON.stringify(value)).join(', ')}`
    case 'const':
      return `must be ${JSON.stringify(params.allowedValue)}`
    default:
      return message ?? 'is invalid'
  }
}
