import type { z } from 'zod'
import { type ErrorCode, OncueError } from '../errors.ts'
import type { StandardIssue } from './schema.ts'
import { formatPath, quote } from './text.ts'

/** Fields whose errors have their own code, wherever they appear. */
const FIELD_CODES: Readonly<Record<string, ErrorCode>> = {
  topic: 'INVALID_TOPIC',
  queue: 'INVALID_QUEUE',
  priority: 'INVALID_PRIORITY',
  runAt: 'INVALID_DATE',
  run_at: 'INVALID_DATE',
}

interface Issue {
  readonly path: readonly PropertyKey[]
  readonly message: string
}

/** Converts zod's issues with a request or options. `what` is the first word of the path. */
export function toInputError(error: z.core.$ZodError, what: string, input: unknown): OncueError {
  const issue = firstIssue(error)
  const [field] = issue.path
  const code = (typeof field === 'string' && FIELD_CODES[field]) || 'INVALID_INPUT'
  const got = field === undefined ? '' : `, got ${quote(valueAt(input, issue.path))}`
  return new OncueError(code, `${formatIssue(issue, what)}${got}`, { cause: error })
}

/** What a schema of zod or of another library has against a value. */
export type SchemaIssues = z.core.$ZodError | { readonly issues: readonly StandardIssue[] }

/**
 * Converts the issues with a payload or result. The value is left out, because messages are seen by more
 * people.
 */
export function toSchemaError(
  error: SchemaIssues,
  what: keyof typeof SCHEMA_CODES,
  topic: string,
): OncueError {
  const code = SCHEMA_CODES[what]
  return new OncueError(
    code,
    `${formatIssue(error instanceof Error ? firstIssue(error) : plainIssue(error.issues[0]), what)} (schema of ${topic})`,
    {
      cause: error,
    },
  )
}

const SCHEMA_CODES = {
  payload: 'INVALID_PAYLOAD',
  result: 'INVALID_RESULT',
  signal: 'INVALID_SIGNAL',
  progress: 'INVALID_INPUT',
  answer: 'INVALID_ANSWER',
} as const

const formatIssue = ({ path, message }: Issue, what: string) => `${formatPath(what, path)}: ${message}`

/** The first issue; in a union that of the alternative that matched furthest, which is probably the intended one. */
function firstIssue(error: z.core.$ZodError): Issue {
  let issue = error.issues[0]
  let path: readonly PropertyKey[] = issue?.path ?? []
  while (issue?.code === 'invalid_union') {
    const candidates = issue.errors.flatMap((alternative) => alternative.slice(0, 1))
    const [furthest] = candidates.sort((a, b) => b.path.length - a.path.length)
    if (!furthest?.path.length) break
    issue = furthest
    path = [...path, ...furthest.path]
  }
  return { path, message: issue?.message ?? 'is invalid' }
}

function plainIssue(issue: StandardIssue | undefined): Issue {
  const path = (issue?.path ?? []).map((part) => (typeof part === 'object' ? part.key : part))
  return { path, message: issue?.message ?? 'is invalid' }
}

function valueAt(input: unknown, path: readonly PropertyKey[]): unknown {
  let value = input
  for (const key of path) value = (value as Record<PropertyKey, unknown> | null | undefined)?.[key]
  return value
}
