import type { AppRouter } from '@oncue/api'
import type { inferRouterInputs, inferRouterOutputs } from '@trpc/server'

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

/** How each procedure is called. The list in `procedures.ts` is generated, and has to fit. */
export type Procedures = KindOf<AppRouter['_def']['record']>

type KindOf<Part> = Part extends { _def: { type: infer Kind } }
  ? Kind
  : { readonly [Name in keyof Part]: KindOf<Part[Name]> }

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
