import type { AppRouter } from '@oncue/api'
import type { inferRouterInputs, inferRouterOutputs } from '@trpc/server'

type Procedures = AppRouter['_def']['record']
type RouterOutputs = inferRouterOutputs<AppRouter>

// What is published has these two written out (scripts/declare.ts): nobody needs the types of the server.
export type Inputs = inferRouterInputs<AppRouter>
export type Outputs = {
  [N in keyof RouterOutputs]: { [V in keyof RouterOutputs[N]]: WithoutIds<RouterOutputs[N][V]> }
}

/** A message of a stream comes with its id, which nobody but us needs. */
type WithoutIds<Output> =
  Output extends AsyncIterable<infer Message>
    ? AsyncIterable<Message extends { readonly id: string; readonly data: infer Data } ? Data : Message>
    : Output

/** What one call may be told, beside its input. */
export interface CallOptions {
  /** Ends the call, or the waiting; what the API has begun it goes on with. */
  readonly signal?: AbortSignal | undefined
}

/** How each procedure is called. The compiler knows when one is missing here, or is called the wrong way. */
export const PROCEDURES = {
  jobs: {
    enqueue: 'mutation',
    enqueueMany: 'mutation',
    get: 'query',
    list: 'query',
    stats: 'query',
    failures: 'query',
    series: 'query',
    gauges: 'query',
    events: 'query',
    requeue: 'mutation',
    cancel: 'mutation',
    delete: 'mutation',
    watch: 'subscription',
    wait: 'query',
  },
  queues: {
    list: 'query',
    pause: 'mutation',
    resume: 'mutation',
    limit: 'mutation',
    configure: 'mutation',
  },
  operations: {
    preview: 'query',
    run: 'mutation',
    get: 'query',
    list: 'query',
    stop: 'mutation',
    watch: 'subscription',
  },
  workers: { list: 'query' },
  topics: { list: 'query' },
  schedules: {
    list: 'query',
    save: 'mutation',
    remove: 'mutation',
    pause: 'mutation',
    resume: 'mutation',
    runNow: 'mutation',
  },
  tokens: { list: 'query', create: 'mutation', revoke: 'mutation', me: 'query' },
  devices: {
    list: 'query',
    rename: 'mutation',
    revoke: 'mutation',
    registerPush: 'mutation',
    testPush: 'mutation',
  },
  pairings: { create: 'mutation', exchange: 'mutation' },
  alerts: {
    list: 'query',
    get: 'query',
    ack: 'mutation',
    unack: 'mutation',
    snooze: 'mutation',
    unsnooze: 'mutation',
    watch: 'subscription',
    rules: 'query',
    createRule: 'mutation',
    updateRule: 'mutation',
    deleteRule: 'mutation',
  },
  channels: { list: 'query', create: 'mutation', update: 'mutation', delete: 'mutation', test: 'mutation' },
  audit: { list: 'query' },
  settings: { get: 'query', set: 'mutation' },
  health: { get: 'query', watch: 'subscription' },
} as const satisfies {
  [N in keyof Procedures]: { [V in keyof Procedures[N]]: KindOf<Procedures[N][V]> }
}

type KindOf<Procedure> = Procedure extends { _def: { type: infer Kind } } ? Kind : never

export type Noun = keyof Inputs & keyof Outputs
export type VerbOf<N extends Noun> = keyof Inputs[N] & keyof Outputs[N]

/** Every procedure as a function. */
export type Calls = {
  readonly [N in Noun]: { readonly [V in VerbOf<N>]: CallOf<Inputs[N][V], Outputs[N][V]> }
}

type CallOf<Input, Output> = undefined extends Input
  ? (input?: Input, options?: CallOptions) => Answer<Output>
  : (input: Input, options?: CallOptions) => Answer<Output>

type Answer<Output> = Output extends AsyncIterable<unknown> ? Output : Promise<Output>
