import type { RetryOptions } from '../job/retry.ts'
import type { ReturnsStorable, Storable, Stored } from './storable.ts'

/** Milliseconds, or a text such as `500ms`, `30s`, `5m`, `2h`, `7d`. */
export type Duration = number | `${number}${'ms' | 's' | 'm' | 'h' | 'd'}`

/** When a step is repeated, and how long it may take. */
export interface StepOptions {
  /** Repeats a step that throws. Delays of more than a second are waited for outside of the worker. Default: none. */
  readonly retry?: RetryOptions | undefined
  /** How long an attempt may take. Default: as long as the run. */
  readonly timeout?: Duration | undefined
}

/** For each of the steps. */
export interface EachOptions<Item> extends StepOptions {
  /** What names an item in every run, such as its id. Default: its index, for items that keep their order. */
  readonly key?: ((item: Item, index: number) => string | number) | undefined
  /** How many run at once, 1 to 1,000. Default: 1. */
  readonly concurrency?: number | undefined
}

/** A step whose event is written into the job's stream. */
export type ToldStep = <Result>(
  name: string,
  work: ((signal: AbortSignal) => Result | Promise<Result>) & ReturnsStorable<Result>,
  options?: StepOptions,
) => Promise<Stored<Result>>

/** A step that calls a tool with these arguments. */
export type ToolStep = <Args, Result>(
  name: string,
  args: Args & Storable<Args>,
  work: ((args: Args, signal: AbortSignal) => Result | Promise<Result>) & ReturnsStorable<Result>,
  options?: StepOptions,
) => Promise<Stored<Result>>

/** `ctx.step`: runs a piece of work once for the whole job. */
export interface Step {
  /**
   * Runs `work` once for the whole job: a later run gets the stored result instead of running it again. The
   * result is the value after a round trip through JSON, of at most 1 MB (1,048,576 bytes). If it cannot be stored,
   * the job fails without a retry, because `work` has run. `name` has 1 to 255 characters, is the same in every run, and
   * used once in each. If `work` throws and the handler catches it, later runs get a StepError. `signal` aborts at the
   * timeout of the step, and with `ctx.signal`.
   */
  <Result>(
    name: string,
    work: ((signal: AbortSignal) => Result | Promise<Result>) & ReturnsStorable<Result>,
    options?: StepOptions,
  ): Promise<Stored<Result>>

  /**
   * A step for each item, named `name[key]`. Returns the results in the order of the items. After a failure no further
   * step begins; when those that run have ended, the first failure is thrown.
   */
  each<Item, Result>(
    name: string,
    items: readonly Item[],
    work: ((item: Item, signal: AbortSignal) => Result | Promise<Result>) & ReturnsStorable<Result>,
    options?: EachOptions<Item>,
  ): Promise<Stored<Result>[]>
}
