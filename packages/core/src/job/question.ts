import { OncueError } from '../errors.ts'
import { assertText, quote } from './text.ts'

/** Who may answer a question: a role that may at least act on jobs. */
export const ASK_ROLES = ['operator', 'admin'] as const
export type AskRole = (typeof ASK_ROLES)[number]

/** Characters of a question: it is read on a phone. */
const MAX_QUESTION = 2_000

export function assertQuestion(question: unknown, role: unknown): asserts role is AskRole {
  if (typeof question !== 'string' || question.trim() === '' || question.length > MAX_QUESTION) {
    throw new OncueError('INVALID_INPUT', `the question of ctx.ask must have 1 to ${MAX_QUESTION} characters`)
  }
  assertText(question, 'the question of ctx.ask')
  const roles: readonly unknown[] = ASK_ROLES
  if (roles.includes(role)) return
  const message = `options.role of ctx.ask must be ${ASK_ROLES.join(' or ')}, not ${quote(role)}`
  throw new OncueError('INVALID_INPUT', message)
}
