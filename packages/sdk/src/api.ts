import type { AppRouter } from '@oncue/api'
import type { inferRouterInputs, inferRouterOutputs } from '@trpc/server'

type RouterOutputs = inferRouterOutputs<AppRouter>

// In the published package these two are written out (scripts/declare.ts), so users do not need the server's types.
/** What each procedure of the API takes. */
export type Inputs = inferRouterInputs<AppRouter>
/** What each procedure of the API returns. */
export type Outputs = {
  [N in keyof RouterOutputs]: { [V in keyof RouterOutputs[N]]: WithoutIds<RouterOutputs[N][V]> }
}

/** Stream messages carry an id, which only the transport needs. */
type WithoutIds<Output> =
  Output extends AsyncIterable<infer Message>
    ? AsyncIterable<Message extends { readonly id: string; readonly data: infer Data } ? Data : Message>
    : Output

/** Options of a single call. */
export interface CallOptions {
  /** Aborts the call or the wait. It does not undo what the API has already started. */
  readonly signal?: AbortSignal | undefined
}

/** The kind of each procedure. The generated list in `procedures.ts` must match it. */
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
  ? (input?: Input, options?: CallOptions) => Returned<Output>
  : (input: Input, options?: CallOptions) => Returned<Output>

type Returned<Output> = Output extends AsyncIterable<unknown> ? Output : Promise<Output>
