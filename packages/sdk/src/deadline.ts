/**
 * Work that ends in time, or when the caller loses interest: it is told by its signal, and whoever waits is told
 * at once. Timers and listeners are gone afterwards. By hand, because not every platform has AbortSignal.any.
 */
export function withDeadline<Value>(
  work: (signal: AbortSignal) => Promise<Value>,
  { ms, late = () => new Error('too late'), signal }: Deadline,
): Promise<Value> {
  const inner = new AbortController()
  return new Promise<Value>((resolve, reject) => {
    const end = (reason: unknown) => {
      reject(reason)
      inner.abort(reason)
    }
    const onAbort = () => end(signal?.reason)
    const timer = ms === undefined ? undefined : setTimeout(() => end(late()), ms)
    const release = () => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', onAbort)
    }
    inner.signal.addEventListener('abort', release)
    signal?.addEventListener('abort', onAbort)
    if (signal?.aborted) onAbort()
    else work(inner.signal).then(resolve, reject).finally(release)
  })
}

interface Deadline {
  /** None: it may take for ever. */
  readonly ms?: number | undefined
  readonly late?: (() => Error) | undefined
  readonly signal?: AbortSignal | undefined
}

export function sleep(ms: number, signal: AbortSignal | undefined): Promise<void> {
  const work = (inner: AbortSignal) =>
    new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms)
      inner.addEventListener('abort', () => clearTimeout(timer))
    })
  return withDeadline(work, { signal })
}
