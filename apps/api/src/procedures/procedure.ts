import { isOncueError, OncueError } from '@oncue/core'
import { toInputError } from '@oncue/core/internal'
import type { AccessClass } from '@oncue/core/wire'
import type { z } from 'zod'
import type { AssertStill } from '../auth/validity.ts'
import type { ApiContext } from '../context.ts'
import { toOncueError } from '../errors.ts'
import { networkOf } from '../http/address.ts'
import type { RestRoute } from '../http/rest/route.ts'

/** For how long a stream of a mounted API relies on one answer of the host application. */
const HOST_STREAM_MS = 60_000

/** What an audit entry says of a mutation: its target, and how many it changed. */
export interface AuditDetails {
  readonly target: unknown
  readonly count: number
}

/**
 * `anyone`: also callers without a token; the procedure checks for itself. `own`: callers who may read jobs, and callers
 * who may enqueue and know the id of a job; the procedure checks which job it is.
 */
export type Access = AccessClass | 'anyone' | 'own'

/** What every procedure declares. Its path is its place in the table: `jobs.requeue`. */
interface Declaration<Input extends z.ZodType, Output extends z.ZodType> {
  readonly access: Access
  readonly input: Input
  readonly output: Output
}

interface Call<Input extends z.ZodType, Output extends z.ZodType> extends Declaration<Input, Output> {
  /** Bytes that the body of a request may have. Default: `SMALL_BODY`. */
  readonly maxBody?: number
  /** Its routes over plain HTTP: the main one first, then its aliases. Default: none. */
  readonly rest?: readonly RestRoute<Input, Output>[]
}

/** Reads. */
export interface Query<Input extends z.ZodType = z.ZodType, Output extends z.ZodType = z.ZodType>
  extends Call<Input, Output> {
  readonly kind: 'query'
  readonly run: (ctx: ApiContext, input: z.output<Input>) => Promise<z.input<Output>>
}

/** Changes something, and therefore declares its audit entry. */
export interface Mutation<
  Input extends z.ZodType = z.ZodType,
  Output extends z.ZodType = z.ZodType,
  Done extends z.input<Output> = z.input<Output>,
> extends Call<Input, Output> {
  readonly kind: 'mutation'
  readonly run: (ctx: ApiContext, input: z.output<Input>) => Promise<Done>
  /** `done` is what `run` returned, with what `output` leaves out. Null: this call changed nothing. */
  audit(
    input: z.output<Input>,
    output: z.output<Output>,
    ctx: ApiContext,
    done: NoInfer<Done>,
  ): AuditDetails | null
  /** For a change of several transactions: what was done before it failed; null for nothing. */
  readonly auditFailed?: (input: z.output<Input>, error: OncueError) => AuditDetails | null
  /** Starts what goes on in the background, once the audit entry is written. */
  readonly afterwards?: (ctx: ApiContext, output: z.output<Output>) => void
}

/** Streams messages. A client resumes after the id of a message, as `lastEventId`. */
export interface Subscription<Input extends z.ZodType = z.ZodType, Output extends z.ZodType = z.ZodType>
  extends Declaration<Input, Output> {
  readonly kind: 'subscription'
  /** Checks which jobs the caller may watch; returns how to check again while the stream is open. */
  readonly assertMayWatch?: (ctx: ApiContext, input: z.output<Input>) => Promise<AssertStill | undefined>
  readonly watch: (
    ctx: ApiContext,
    input: z.output<Input>,
    signal: AbortSignal,
  ) => AsyncIterable<{ readonly id: string; readonly message: z.input<Output> }>
}

export type Procedure<Input extends z.ZodType = z.ZodType, Output extends z.ZodType = z.ZodType> =
  | Query<Input, Output>
  | Mutation<Input, Output>
  | Subscription<Input, Output>

/** With its path, as tRPC calls it and as the audit names it. */
export type Named<Each = Procedure, Path extends string = string> = Each & { readonly path: Path }

// These keep the types of the schemas, and check each declaration.
export const query = <Input extends z.ZodType, Output extends z.ZodType>(
  declaration: Omit<Query<Input, Output>, 'kind'> & { readonly audit?: never },
): Query<Input, Output> => ({ ...declaration, kind: 'query' })
export const mutation = <Input extends z.ZodType, Output extends z.ZodType, Done extends z.input<Output>>(
  declaration: Omit<Mutation<Input, Output, Done>, 'kind'>,
): Mutation<Input, Output> => ({ ...declaration, kind: 'mutation' })
export const subscription = <Input extends z.ZodType, Output extends z.ZodType>(
  declaration: Omit<Subscription<Input, Output>, 'kind'>,
): Subscription<Input, Output> => ({ ...declaration, kind: 'subscription' })

/** The one way to a query or a mutation, for tRPC and REST: access, input, output and audit are checked here. */
export async function perform<Input extends z.ZodType, Output extends z.ZodType>(
  ctx: ApiContext,
  procedure: Named<Query<Input, Output> | Mutation<Input, Output>>,
  given: unknown,
): Promise<z.output<Output>> {
  const input = await admit(ctx, procedure, given)
  if (procedure.kind === 'query') return checkOutput(procedure, await procedure.run(ctx, input))
  const done = await procedure.run(ctx, input).catch(async (error: unknown) => {
    const details = procedure.auditFailed?.(input, toOncueError(error))
    // The failure matters more than the missing audit entry, which is logged.
    if (details) await ctx.audit.record(ctx, procedure.path, details).catch(() => {})
    throw error
  })
  const output = checkOutput(procedure, done)
  const details = procedure.audit(input, output, ctx, done)
  if (details) await ctx.audit.record(ctx, procedure.path, details)
  procedure.afterwards?.(ctx, output)
  return output
}

/** Ends when the caller leaves, the server stops, or the token is revoked. */
export async function* stream<Input extends z.ZodType, Output extends z.ZodType>(
  ctx: ApiContext,
  procedure: Named<Subscription<Input, Output>>,
  given: unknown,
  gone: AbortSignal,
): AsyncGenerator<{ id: string; message: z.output<Output> }, void> {
  const input = await admit(ctx, procedure, given)
  const by = await authorize(ctx, procedure.access)
  const assertStill = await procedure.assertMayWatch?.(ctx, input)
  const leave = ctx.live.enter(callerOf(ctx))
  const renewal = endForRenewal(ctx)
  const validity = ctx.auth.whileValid(ctx.principal, by === 'enqueue' ? 'enqueue' : 'read', assertStill)
  const signal = AbortSignal.any([gone, ctx.live.closing, validity.signal, renewal.signal])
  try {
    for await (const { id, message } of procedure.watch(ctx, input, signal)) {
      yield { id, message: checkOutput(procedure, message) }
      // Yield between messages so that a busy stream does not starve other requests.
      await ctx.runtime.sleep(0)
    }
  } catch (error) {
    throw validity.signal.aborted ? validity.signal.reason : error
  } finally {
    validity.release()
    renewal.release()
    leave()
  }
}

/**
 * Only the host application knows whether its people still have access: their streams end without a final message after a
 * minute, so that the client reconnects and the host is asked again.
 */
function endForRenewal({ principal, runtime }: ApiContext): {
  readonly signal: AbortSignal
  release(): void
} {
  const controller = new AbortController()
  if (principal.kind !== 'host') return { signal: controller.signal, release() {} }
  const timer = runtime.after(HOST_STREAM_MS, () => controller.abort())
  return { signal: controller.signal, release: () => runtime.cancel(timer) }
}

/** Whose limits a call counts against: a token's, for all of its sessions, or an anonymous caller's whole network's. */
export function callerOf({ principal: { kind, id }, request }: ApiContext): string {
  if (kind === 'anonymous') return networkOf(request.ip)
  return `${kind === 'jwt' || kind === 'host' ? kind : 'token'} ${id}`
}

/** Returns the class of access that admitted the caller. */
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
    // Knowing an id is not enough: it takes a token as well.
    if (principal.kind === 'anonymous' || !isOncueError(error, 'FORBIDDEN')) throw error
    await auth.authorize(principal, 'enqueue').catch(() => {
      throw error
    })
    return 'enqueue'
  }
}

/** Access first: a caller without it learns nothing about the input. */
async function admit<Input extends z.ZodType>(
  ctx: ApiContext,
  { access, input }: Declaration<Input, z.ZodType>,
  given: unknown,
): Promise<z.output<Input>> {
  await authorize(ctx, access)
  const parsed = input.safeParse(given)
  if (!parsed.success) throw toInputError(parsed.error, 'input', given)
  return parsed.data
}

/** Also removes what the schema does not name, so that nothing is sent by accident. */
function checkOutput<Output extends z.ZodType>(
  { path, output }: Named<Declaration<z.ZodType, Output>>,
  value: z.input<Output>,
): z.output<Output> {
  const parsed = output.safeParse(value)
  if (parsed.success) return parsed.data
  throw new OncueError('INTERNAL', `The output of ${path} does not fit its schema`, { cause: parsed.error })
}
