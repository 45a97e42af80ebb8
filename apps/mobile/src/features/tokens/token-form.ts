import type { Inputs } from '@oncue/sdk'

const DAY_MS = 86_400_000

export type Role = Inputs['tokens']['create']['role']

/** As it is typed. */
export interface TokenText {
  readonly name: string
  readonly role: Role
  /** One per line. Empty: all. */
  readonly topics: string
  readonly queues: string
  /** Empty: it does not expire. */
  readonly days: string
}

type Checked =
  | { readonly ok: true; readonly token: Inputs['tokens']['create'] }
  | { readonly ok: false; readonly errors: Partial<Record<keyof TokenText, string>> }

export function readToken({ name, role, topics, queues, days }: TokenText, now: number): Checked {
  const errors: Partial<Record<keyof TokenText, string>> = {}
  const many = days.trim() === '' ? null : Number(days.trim())
  if (name.trim() === '') errors.name = 'Enter who or what uses it.'
  if (many !== null && !(Number.isInteger(many) && many >= 1 && many <= 36_500))
    errors.days = 'A whole number from 1 to 36,500, or leave empty.'
  if (Object.keys(errors).length > 0) return { ok: false, errors }
  const token = {
    ...{ name: name.trim(), role, allowedTopics: namesIn(topics), allowedQueues: namesIn(queues) },
    expiresAt: many === null ? null : new Date(now + many * DAY_MS),
  }
  return { ok: true, token }
}

/** Null: all. */
export function namesIn(text: string): string[] | null {
  const names = text
    .split(/[\n,]/)
    .map((name) => name.trim())
    .filter((name) => name !== '')
  return names.length === 0 ? null : names
}
