/** The longest delay of a timer: 24 days. A longer one would fire at once. */
const LONGEST_MS = 2 ** 31 - 1

/** Calls `act` after any delay; never, after Infinity. Returns a function that cancels it. */
export function after(ms: number, act: () => void): () => void {
  let timer: ReturnType<typeof setTimeout>
  const arm = (left: number) => {
    const onTimer = () => (left > LONGEST_MS ? arm(left - LONGEST_MS) : act())
    timer = setTimeout(onTimer, Math.min(left, LONGEST_MS))
  }
  arm(ms)
  return () => clearTimeout(timer)
}

/**
 * Rejects when the time is up or the caller's signal aborts, and aborts the signal of the work. Removes its timers and
 * listeners. By hand, because not every platform has AbortSignal.any.
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
    const stop = ms === undefined ? undefined : after(ms, () => end(late()))
    const release = () => {
      stop?.()
      signal?.removeEventListener('abort', onAbort)
    }
    inner.signal.addEventListener('abort', release)
    signal?.addEventListener('abort', onAbort)
    if (signal?.aborted) onAbort()
    else work(inner.signal).then(resolve, reject).finally(release)
  })
}

interface Deadline {
  /** Omitted: no limit. */
  readonly ms?: number | undefined
  readonly late?: (() => Error) | undefined
  readonly signal?: AbortSignal | undefined
}

export function sleep(ms: number, signal: AbortSignal | undefined): Promise<void> {
  const work = (inner: AbortSignal) =>
    new Promise<void>((resolve) => {
      inner.addEventListener('abort', after(ms, resolve))
    })
  return withDeadline(work, { signal })
}
