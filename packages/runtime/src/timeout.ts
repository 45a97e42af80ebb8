import { type Runtime, systemRuntime, type Timer } from './clock.ts'

/**
 * The result of `work`, or of `onTimeout` once `ms` have passed. `work` itself continues: `onTimeout` may abort it,
 * and return it to wait for the end.
 */
export async function withTimeout<T>(
  work: Promise<T>,
  ms: number,
  onTimeout: () => T | Promise<T>,
  runtime: Runtime = systemRuntime,
): Promise<T> {
  const late = Symbol('late')
  let timer: Timer | undefined
  const timeout = new Promise<typeof late>((resolve) => {
    timer = runtime.after(ms, () => resolve(late))
  })
  const first = await Promise.race([work, timeout]).finally(() => runtime.cancel(timer))
  return first === late ? onTimeout() : (first as T)
}

/** Like `AbortSignal.timeout`: aborted after `ms`, with a `TimeoutError`. Does not keep the process alive. */
export function timeoutSignal(ms: number, runtime: Runtime = systemRuntime): AbortSignal {
  const controller = new AbortController()
  const abort = () => controller.abort(new DOMException('The operation timed out', 'TimeoutError'))
  runtime.after(ms, abort).unref()
  return controller.signal
}
