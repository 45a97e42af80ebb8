import { inspect } from 'node:util'
import type { JobLog } from '@oncue/core'
import { cleanText, describeError, encodeJson, truncateUtf8, utf8Length } from '@oncue/core/internal'
import type { NewEvent } from '@oncue/db'
import type { Logger } from '@oncue/runtime'

/** Lines stored per run: a handler that logs in a loop must not fill the database. */
const MAX_LINES = 1_000
const MESSAGE_BYTES = 4_096
const FIELD_BYTES = 4_096
/** All fields of a line as JSON: they must fit into an event. */
const FIELDS_BYTES = 16_384

/** Writes lines to the worker's log and stores them with the job. Logging never makes a job fail. */
export function createJobLog(
  log: Logger,
  keep: (event: NewEvent) => void,
  isMuted: () => boolean = () => false,
): JobLog {
  let lines = 0
  const write = (level: keyof JobLog) => (message: string, fields?: object) => {
    if (isMuted()) return
    const text = truncateUtf8(cleanText(toText(message)), MESSAGE_BYTES)
    const plain = toPlainFields(fields)
    log[level](plain ?? {}, text)
    lines += 1
    if (lines <= MAX_LINES) keep({ type: 'log', data: { level, message: text, fields: plain } })
    if (lines === MAX_LINES) keep({ type: 'log', data: FULL })
  }
  return { debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') }
}

const FULL = { level: 'warn', message: "further lines of this run are only in the worker's log" }

/** A copy: later changes by the handler must not change the line. */
function toPlainFields(fields: unknown): Record<string, unknown> | undefined {
  if (typeof fields !== 'object' || fields === null) return undefined
  try {
    const plain = Object.fromEntries(
      Object.entries(fields).map(([name, value]) => [cleanText(name), toPlain(value, name)]),
    )
    const bytes = utf8Length(JSON.stringify(plain))
    return bytes <= FIELDS_BYTES ? plain : { omitted: `fields of ${bytes} bytes` }
  } catch {
    return { omitted: 'fields that cannot be read' }
  }
}

function toPlain(value: unknown, name: string): unknown {
  if (value instanceof Error) return describeError(value, name)
  try {
    return JSON.parse(encodeJson(value, 'event', FIELD_BYTES))
  } catch {
    return truncateUtf8(cleanText(inspect(value, { depth: 2, maxArrayLength: 20 })), FIELD_BYTES)
  }
}

function toText(message: unknown): string {
  try {
    return String(message)
  } catch {
    return 'a message that cannot be displayed'
  }
}
