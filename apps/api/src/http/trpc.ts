import { ERRORS, type OncueError } from '@oncue/core'
import { initTRPC, TRPCError, tracked } from '@trpc/server'
import { TRPC_ERROR_CODES_BY_KEY } from '@trpc/server/rpc'
import type { z } from 'zod'
import type { ApiContext } from '../context.ts'
import { toOncueError, toPublicError } from '../errors.ts'
import {
  authorize,
  type Change,
  type Operation,
  perform,
  type Rules,
  type Stream,
  stream,
} from '../procedures/procedure.ts'
import { transformer } from './transformer.ts'

const PING_MS = 15_000

/** What a procedure does, for those who call it without tRPC; none: a subscription. */
export interface Meta {
  readonly operation?: Operation
}

const t = initTRPC
  .context<ApiContext>()
  .meta<Meta>()
  .create({
    transformer,
    // Beside tRPC's own, every error has ours: the same fields as REST answers.
    errorFormatter: ({ shape, error, ctx }) =>
      toShape(toPublicError(error, ctx?.request.id ?? 'unknown'), shape.data.path),
    sse: {
      ping: { enabled: true, intervalMs: PING_MS },
      client: { reconnectAfterInactivityMs: 3 * PING_MS },
    },
  })

export const { router } = t

function toShape(error: OncueError, path: string | undefined) {
  const { http, trpc } = ERRORS[error.code]
  return {
    code: TRPC_ERROR_CODES_BY_KEY[trpc],
    message: error.message,
    data: { code: trpc, httpStatus: http, path, oncue: error.toJSON() },
  }
}

// One call as tRPC writes it, for those that are answered without its adapter.
export const readInput = transformer.input.deserialize
export function toResultBody(output: unknown): unknown {
  return { result: { data: transformer.output.serialize(output) } }
}
export function toErrorBody(error: OncueError, path: string | undefined): unknown {
  return { error: transformer.output.serialize(toShape(error, path)) }
}

/** The table of procedures does not tell its operations apart; each has its own types, which were checked. */
const metaOf = (operation: object): Meta => ({ operation: operation as Operation })

/** tRPC knows only its own errors; ours ride along as the cause. */
function toTrpcError(thrown: unknown): TRPCError {
  if (thrown instanceof TRPCError) return thrown
  const cause = toOncueError(thrown)
  return new TRPCError({ code: ERRORS[cause.code].trpc, message: cause.message, cause })
}

/** `perform` checks input and output, for REST too; tRPC only learns their types. */
const inputOf = <Schema extends z.ZodType>(_: Schema) =>
  ({ parse: (value: unknown) => value }) as unknown as { _input: z.input<Schema>; _output: unknown }

/** Access comes before the input: who may not call a procedure does not make the server read for it. */
const guarded = ({ access }: Pick<Rules, 'access'>) =>
  t.procedure.use(async ({ ctx, next }) => {
    await authorize(ctx, access).catch((error: unknown) => {
      throw toTrpcError(error)
    })
    return next()
  })

export function query<Input extends z.ZodType, Output extends z.ZodType>(
  operation: Operation<Input, Output>,
) {
  return guarded(operation)
    .meta(metaOf(operation))
    .input(inputOf(operation.input))
    .query(({ ctx, input }) => performed(ctx, operation, input))
}

export function mutation<Input extends z.ZodType, Output extends z.ZodType>(change: Change<Input, Output>) {
  return guarded(change)
    .meta(metaOf(change))
    .input(inputOf(change.input))
    .mutation(({ ctx, input }) => performed(ctx, change, input))
}

export function subscription<Input extends z.ZodType, Output extends z.ZodType>(
  operation: Stream<Input, Output>,
) {
  return guarded(operation)
    .input(inputOf(operation.input))
    .subscription(({ ctx, input, signal }) => {
      const gone = signal ?? new AbortController().signal
      return handled(messages(stream(ctx, operation, input, gone)))
    })
}

async function* messages<Message>(source: AsyncIterable<{ id: string; message: Message }>) {
  try {
    for await (const { id, message } of source) yield tracked(id, message)
  } catch (error) {
    // An abort ends the stream without a word that it is complete: a client that is still there comes back.
    throw isAbort(error) ? error : toTrpcError(error)
  }
}

/**
 * tRPC asks for the next message before the last one is sent, and looks at the answer afterwards, if at all. A
 * stream that ends badly in between would be a rejection that nobody handles, and would end the process.
 */
function handled<Message>(source: AsyncGenerator<Message, void>): AsyncIterable<Message, void> {
  const iterator: AsyncIterator<Message, void> = {
    next() {
      const next = source.next()
      next.catch(() => {})
      return next
    },
    return: () => source.return(),
  }
  return { [Symbol.asyncIterator]: () => iterator }
}

async function performed<Input extends z.ZodType, Output extends z.ZodType>(
  ctx: ApiContext,
  operation: Operation<Input, Output>,
  input: unknown,
): Promise<z.output<Output>> {
  try {
    return await perform(ctx, operation, input)
  } catch (error) {
    throw toTrpcError(error)
  }
}

function isAbort(error: unknown): boolean {
  return error instanceof Error && error.name === 'AbortError'
}
