import { OncueError } from '@oncue/core'
import { formatPath } from '@oncue/core/internal'
import type { Settings } from '@oncue/core/wire'
import type { Store } from '@oncue/db'
import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import type { Logger } from '../log.ts'

/** How old what is known of the announced topics may be. */
const REFRESH_MS = 2_000

export interface PayloadValidation {
  /**
   * Checks a payload against what a worker announced for its topic. Topics that nobody announced take anything:
   * their worker may not have started yet. Expects what can be stored: how deep a payload is has been checked before.
   */
  check(topic: string, payload: unknown, mode: Mode): Promise<void>
  /** The same for many payloads: what is known of the topics is asked for once. */
  checker(mode: Mode): Promise<(topic: string, payload: unknown) => void>
}

type Mode = Settings['payloadValidation']

type Options = {
  readonly store: Pick<Store, 'topics'>
  readonly log: Pick<Logger, 'warn'>
  readonly refreshMs?: number
}

/** A compiled schema; null when it cannot be compiled. Kept as long as the text stays the same. */
type Known = { readonly text: string; readonly validate: ValidateFunction | null }

export function createPayloadValidation({ store, log, refreshMs = REFRESH_MS }: Options): PayloadValidation {
  const ajv = createAjv()
  const compiled = new Map<string, Known>()
  let announced: Promise<Map<string, string>> | undefined
  let freshUntil = 0

  /** The JSON text of each announced schema. */
  function schemas(): Promise<Map<string, string>> {
    if (!announced || performance.now() >= freshUntil) {
      freshUntil = performance.now() + refreshMs
      announced = store
        .topics()
        .then((rows) => new Map(rows.map(({ topic, input }) => [topic, JSON.stringify(input)])))
      announced.catch(() => {
        announced = undefined
      })
    }
    return announced
  }

  function compile(topic: string, text: string): ValidateFunction | null {
    const known = compiled.get(topic)
    if (known?.text === text) return known.validate
    const validate = tryToCompile(topic, text)
    compiled.set(topic, { text, validate })
    return validate
  }

  function tryToCompile(topic: string, text: string): ValidateFunction | null {
    const schema = JSON.parse(text)
    try {
      return ajv.compile(schema)
    } catch (error) {
      log.warn({ topic, err: error }, 'payloads are not checked: the announced schema cannot be compiled')
      return null
    } finally {
      // Ajv would keep every version of it, and refuse a second with the same $id.
      if (typeof schema === 'object' && schema !== null) ajv.removeSchema(schema)
    }
  }

  async function checker(mode: Mode): ReturnType<PayloadValidation['checker']> {
    if (mode === 'off') return () => {}
    const known = await schemas()
    return (topic, payload) => {
      const text = known.get(topic)
      const validate = text === undefined ? null : compile(topic, text)
      if (!validate || validate(payload)) return
      const { reason, path } = describeFault(validate.errors ?? [])
      const message = `${path}: ${reason} (schema of ${topic})`
      if (mode === 'reject') throw new OncueError('INVALID_PAYLOAD', message, { details: { topic, path } })
      log.warn({ topic, path }, `stored all the same: ${message}`)
    }
  }

  return { checker, check: async (topic, payload, mode) => (await checker(mode))(topic, payload) }
}

function createAjv(): Ajv2020 {
  const ajv = new Ajv2020({
    // Unknown words and formats are no reason to refuse a payload.
    strict: false,
    logger: false,
    // 0.29 is a multiple of 0.01, as zod sees it.
    multipleOfPrecision: 9,
  })
  addFormats.default(ajv)
  // Zod takes what URL takes, such as letters beyond ASCII.
  ajv.addFormat('uri', (text) => URL.canParse(text))
  return ajv
}

/** The fault that lies deepest: of several alternatives, it is in the one that was meant. No values: they may be secret. */
function describeFault(errors: readonly ErrorObject[]): { path: string; reason: string } {
  const [fault] = errors.toSorted((a, b) => depthOf(b) - depthOf(a))
  if (!fault) return { path: 'payload', reason: 'is invalid' }
  return { path: formatPath('payload', pathOf(fault)), reason: reasonOf(fault) }
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
