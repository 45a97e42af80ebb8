import { setImmediate as nextTurn } from 'node:timers/promises'
import { isOncueError, OncueError } from '@oncue/core'
import { toInputError } from '@oncue/core/internal'
import type { AccessClass } from '@oncue/core/wire'
import type { z } from 'zod'
import type { AssertStill } from '../auth/validity.ts'
import type { ApiContext } from '../context.ts'
import { toOncueError } from '../errors.ts'
import { networkOf } from '../http/address.ts'

/** What is noted of a change: on what, and on how many. */
export interface Note {
  readonly target: unknown
  readonly count: number
}

/**
 * `anyone`: also those who show nothing; the operation looks for itself. `own`: who may see jobs, and who may enqueue
 * and knows the id of a job; the operation looks which job it is.
 */
export type Access = AccessClass | 'anyone' | 'own'

export interface Rules<Input extends z.ZodType = z.ZodType, Output extends z.ZodType = z.ZodType> {
  /** As tRPC calls it, and as the audit names it: `jobs.requeue`. */
  readonly name: string
  readonly access: Access
  readonly input: Input
  readonly output: Output
}

/**
 * One thing that the API can do. tRPC and REST are tables over these, and both go through `perform`: nobody
 * gets past access, checks and audit.
 */
export interface Operation<Input extends z.ZodType = z.ZodType, Output extends z.ZodType = z.ZodType>
  extends Rules<Input, Output> {
  readonly run: (ctx: ApiContext, input: z.output<Input>) => Promise<z.input<Output>>
}

/** An operation that changes something, and therefore says what goes into the audit. */
export interface Change<
  Input extends z.ZodType = z.ZodType,
  Output extends z.ZodType = z.ZodType,
  Done extends z.input<Output> = z.input<Output>,
> extends Operation<Input, Output> {
  readonly run: (ctx: ApiContext, input: z.output<Input>) => Promise<Done>
  /** `done` is what `run` said, with what the answer leaves out. Null: this call has changed nothing. */
  note(input: z.output<Input>, output: z.output<Output>, ctx: ApiContext, done: NoInfer<Done>): Note | null
  /** What goes on in the background, once the change is in the audit. */
  readonly afterwards?: (ctx: ApiContext, output: z.output<Output>) => void
  /** For a change of several transactions: what was done before it failed; null for nothing. */
  readonly noteFailed?: (input: z.output<Input>, error: OncueError) => Note | null
}

/** An operation that goes on answering. The id of a message is what a client comes back with as `lastEventId`. */
export interface Stream<Input extends z.ZodType = z.ZodType, Output extends z.ZodType = z.ZodType>
  extends Rules<Input, Output> {
  /** Which jobs the caller may watch: looks now, and answers how to look again while the stream is open. */
  readonly assertMayWatch?: (ctx: ApiContext, input: z.output<Input>) => Promise<AssertStill | undefined>
  readonly watch: (
    ctx: ApiContext,
    input: z.output<Input>,
    signal: AbortSignal,
  ) => AsyncIterable<{ readonly id: string; readonly message: z.input<Output> }>
}

// These keep the types of the schemas, and check that what was written is what was meant.
export const reading = <Input extends z.ZodType, Output extends z.ZodType>(
  operation: Operation<Input, Output> & { readonly note?: never },
): Operation<Input, Output> => operation
export const changing = <Input extends z.ZodType, Output extends z.ZodType, Done extends z.input<Output>>(
  change: Change<Input, Output, Done>,
): Change<Input, Output> => change
export const watching = <Input extends z.ZodType, Output extends z.ZodType>(
  stream: Stream<Input, Output>,
): Stream<Input, Output> => stream

export async function perform<Input extends z.ZodType, Output extends z.ZodType>(
  ctx: ApiContext,
  operation: Operation<Input, Output> | Change<Input, Output>,
  given: unknown,
): Promise<z.output<Output>> {
  const input = await admit(ctx, operation, given)
  if (!('note' in operation)) return checkOutput(operation, await operation.run(ctx, input))
  const output = await operation.run(ctx, input).catch(async (error: unknown) => {
    const note = operation.noteFailed?.(input, toOncueError(error))
    // That it failed is worse than that it could not be noted, which the log has.
    if (note) await ctx.audit.record(ctx, operation.name, note).catch(() => {})
    throw error
  })
  const answer = checkOutput(operation, output)
  const note = operation.note(input, answer, ctx, output)
  if (note) await ctx.audit.record(ctx, operation.name, note)
  operation.afterwards?.(ctx, answer)
  return answer
}

/** Ends when the caller leaves, the server stops, or the token is revoked. */
export async function* stream<Input extends z.ZodType, Output extends z.ZodType>(
  ctx: ApiContext,
  operation: Stream<Input, Output>,
  given: unknown,
  gone: AbortSignal,
): AsyncGenerator<{ id: string; message: z.output<Output> }, void> {
  const input = await admit(ctx, operation, given)
  const by = await authorize(ctx, operation.access)
  const assertStill = await operation.assertMayWatch?.(ctx, input)
  const leave = ctx.live.enter(callerOf(ctx))
  const validity = ctx.auth.whileValid(ctx.principal, by === 'enqueue' ? 'enqueue' : 'read', assertStill)
  const signal = AbortSignal.any([gone, ctx.live.closing, validity.signal])
  try {
    for await (const { id, message } of operation.watch(ctx, input, signal)) {
      yield { id, message: checkOutput(operation, message) }
      // Whoever has much to hear does not keep the others from being answered in between.
      await nextTurn()
    }
  } catch (error) {
    throw validity.signal.aborted ? validity.signal.reason : error
  } finally {
    validity.release()
    leave()
  }
}

/** What is counted together: all sessions of a token with it, and an anonymous caller's whole network. */
export function callerOf({ principal: { kind, id }, request }: ApiContext): string {
  if (kind === 'anonymous') return networkOf(request.ip)
  return `${kind === 'jwt' ? kind : 'token'} ${id}`
}

/** Returns what the caller was let in by. */
export async function authorize(ctx: ApiContext, access: Access): Promise<Exclude<Access, 'own'>> {
  if (ctx.denied !== undefined) throw ctx.denied
  if (access === 'anyone') return access
  const { auth, principal } = ctx
  if (access !== 'own') {
    await auth.authorize(principal, access)
    return access
  }
  try {
    await auth.authorize(principal, 'read')
    return 'read'
  } catch (error) {
    // An id is no secret to everybody: it takes a token as well.
    if (principal.kind === 'anonymous' || !isOncueError(error, 'FORBIDDEN')) throw error
    await auth.authorize(principal, 'enqueue').catch(() => {
      throw error
    })
    return 'enqueue'
  }
}

/** Access first: who may not do it learns nothing about its input. */
async function admit<Input extends z.ZodType>(
  ctx: ApiContext,
  { access, input }: Rules<Input, z.ZodType>,
  given: unknown,
): Promise<z.output<Input>> {
  await authorize(ctx, access)
  const parsed = input.safeParse(given)
  if (!parsed.success) throw toInputError(parsed.error, 'input', given)
  return parsed.data
}

/** Also takes away what the schema does not name, so that nothing leaves by accident. */
function checkOutput<Output extends z.ZodType>(
  { name, output }: Rules<z.ZodType, Output>,
  value: z.input<Output>,
): z.output<Output> {
  const parsed = output.safeParse(value)
  if (parsed.success) return parsed.data
  throw new OncueError('INTERNAL', `The answer of ${name} does not fit its schema`, { cause: parsed.error })
}
