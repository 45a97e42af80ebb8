import { isOncueError, type JobContext, OncueError } from '@oncue/core'
import { assertQuestion, parseAnswer, toJsonSchema } from '@oncue/core/internal'
import { assertCallName, assertNotNested } from './steps.ts'
import { unawaited } from './unawaited.ts'

/** A question as the run stores it: without the handler's schema, which may be in another process. */
export type AskRequest = {
  readonly question: string
  /** JSON Schema of the answer. */
  readonly schema: unknown
  readonly role: string
  readonly timeout?: number | string | undefined
}

/** An answer that the handler's schema refused. */
export type RefusedAnswer = { readonly seq: number; readonly reason: string }

export type GivenAnswer =
  | { readonly timedOut: false; readonly value: unknown; readonly by: string; readonly seq: number }
  | { readonly timedOut: true }

/** Waits for an answer; `refused` is the one that it returned before. In an isolated process it is a call to the worker. */
type AskOnce = (name: string, request: AskRequest, refused?: RefusedAnswer) => Promise<GivenAnswer>

/** `ctx.ask`: asks until an answer fits. */
export function createAsk(askOnce: AskOnce, topic: string): JobContext['ask'] {
  const ask: JobContext['ask'] = async (name, question, schema, { timeout, role = 'operator' } = {}) => {
    assertNotNested('ask')
    assertCallName(name, 'ask')
    assertQuestion(question, role)
    if (typeof schema !== 'object' || schema === null || !('_zod' in schema))
      throw new OncueError('INVALID_INPUT', 'the schema of ctx.ask must be a zod 4 schema')
    const request = { question, schema: toJsonSchema(schema, 'input'), role, timeout }
    let refused: RefusedAnswer | undefined
    for (;;) {
      const answer = await askOnce(name, request, refused)
      if (answer.timedOut) return { timedOut: true }
      const { value, by, seq } = answer
      try {
        return { timedOut: false, value: parseAnswer(schema, value, topic), by }
      } catch (error) {
        // What JSON Schema cannot say, the API could not check.
        if (!isOncueError(error, 'INVALID_ANSWER')) throw error
        refused = { seq, reason: error.message }
      }
    }
  }
  return (...call) => unawaited(ask(...call))
}
