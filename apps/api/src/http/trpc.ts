import { ERRORS, type OncueError } from '@oncue/core'
import { initTRPC, TRPCError, tracked } from '@trpc/server'
import { TRPC_ERROR_CODES_BY_KEY } from '@trpc/server/rpc'
import type { z } from 'zod'
import type { ApiContext } from '../context.ts'
import { toOncueError, toPublicError } from '../errors.ts'
import {
  authorize,
  type Mutation,
  type Named,
  type Procedure,
  perform,
  type Query,
  type Subscription,
  stream,
} from '../procedures/procedure.ts'
import { PROCEDURES } from '../procedures/table.ts'
import { transformer } from './transformer.ts'

const PING_MS = 15_000

const t = initTRPC.context<ApiContext>().create({
  transformer,
  // In addition to tRPC's fields, every error has ours, as in REST.
  errorFormatter: ({ shape, error, ctx }) =>
    toShape(toPublicError(error, ctx?.request.id ?? 'unknown'), shape.data.path),
  sse: {
    ping: { enabled: true, intervalMs: PING_MS },
    client: { reconnectAfterInactivityMs: 3 * PING_MS },
  },
})

function toShape(error: OncueError, path: string | undefined) {
  const { http, trpc } = ERRORS[error.code]
  return {
    code: TRPC_ERROR_CODES_BY_KEY[trpc],
    message: error.message,
    data: { code: trpc, httpStatus: http, path, oncue: error.toJSON() },
  }
}

// The format of a single call, for those that are served without tRPC's adapter.
export const readInput = transformer.input.deserialize
export function toResultBody(output: unknown): unknown {
  return { result: { data: transformer.output.serialize(output) } }
}
export function toErrorBody(error: OncueError, path: string | undefined): unknown {
  return { error: transformer.output.serialize(toShape(error, path)) }
}

/** tRPC knows only its own errors; ours is the cause. */
function toTrpcError(thrown: unknown): TRPCError {
  if (thrown instanceof TRPCError) return thrown
  const cause = toOncueError(thrown)
  return new TRPCError({ code: ERRORS[cause.code].trpc, message: cause.message, cause })
}

/** `perform` checks input and output, for REST too; tRPC only learns their types. */
const inputOf = <Schema extends z.ZodType>(_: Schema) =>
  ({ parse: (value: unknown) => value }) as unknown as { _input: z.input<Schema>; _output: unknown }

/** Access comes before the input: the server reads nothing for a caller without access. */
const guarded = ({ access }: Pick<Procedure, 'access'>) =>
  t.procedure.use(async ({ ctx, next }) => {
    await authorize(ctx, access).catch((error: unknown) => {
      throw toTrpcError(error)
    })
    return next()
  })

const toQuery = <Input extends z.ZodType, Output extends z.ZodType>(procedure: Named<Query<Input, Output>>) =>
  guarded(procedure)
    .input(inputOf(procedure.input))
    .query(({ ctx, input }) => performed(ctx, procedure, input))

const toMutation = <Input extends z.ZodType, Output extends z.ZodType>(
  procedure: Named<Mutation<Input, Output>>,
) =>
  guarded(procedure)
    .input(inputOf(procedure.input))
    .mutation(({ ctx, input }) => performed(ctx, procedure, input))

const toSubscription = <Input extends z.ZodType, Output extends z.ZodType>(
  procedure: Named<Subscription<Input, Output>>,
) =>
  guarded(procedure)
    .input(inputOf(procedure.input))
    .subscription(({ ctx, input, signal }) => {
      const gone = signal ?? new AbortController().signal
      return handled(messages(stream(ctx, procedure, input, gone)))
    })

type TrpcProcedure<Each> =
  Each extends Query<infer Input, infer Output>
    ? ReturnType<typeof toQuery<Input, Output>>
    : Each extends Mutation<infer Input, infer Output>
      ? ReturnType<typeof toMutation<Input, Output>>
      : Each extends Subscription<infer Input, infer Output>
        ? ReturnType<typeof toSubscription<Input, Output>>
        : never

type TrpcRecord<Subjects> = {
  [Noun in keyof Subjects]: { [Verb in keyof Subjects[Noun]]: TrpcProcedure<Subjects[Noun][Verb]> }
}

function toTrpcProcedure(procedure: Named) {
  if (procedure.kind === 'query') return toQuery(procedure)
  return procedure.kind === 'mutation' ? toMutation(procedure) : toSubscription(procedure)
}

const routers = Object.entries(PROCEDURES).map(([noun, procedures]) => {
  const verbs = Object.entries(procedures).map(([verb, procedure]) => [
    verb,
    toTrpcProcedure(procedure as unknown as Named),
  ])
  return [noun, Object.fromEntries(verbs)]
})

export const appRouter = t.router(Object.fromEntries(routers) as TrpcRecord<typeof PROCEDURES>)

export type AppRouter = typeof appRouter

async function* messages<Message>(source: AsyncIterable<{ id: string; message: Message }>) {
  try {
    for await (const { id, message } of source) yield tracked(id, message)
  } catch (error) {
    // An abort ends the stream without a final message, so that a client that is still there reconnects.
    throw isAbort(error) ? error : toTrpcError(error)
  }
}

/**
 * tRPC requests the next message before the last one is sent, and awaits it later, if at all. A stream that fails in
 * between would cause an unhandled rejection and end the process.
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
  procedure: Named<Query<Input, Output> | Mutation<Input, Output>>,
  input: unknown,
): Promise<z.output<Output>> {
  try {
    return await perform(ctx, procedure, input)
  } catch (error) {
    throw toTrpcError(error)
  }
}

function isAbort(error: unknown): boolean {
  return error instanceof Error && error.name === 'AbortError'
}
