import { systemRuntime } from '@oncue/runtime'

const SIGNALS = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const

/** One Ctrl-C arrives twice within milliseconds where npm or its shell passes it on, too. People are slower. */
const ECHO_MS = 100

/** Handles the signals that ask a process to stop, without echoes. Returns what ends that. */
export function onStopSignals(handle: (signal: NodeJS.Signals) => void): () => void {
  let interruptedAt = Number.NEGATIVE_INFINITY
  const heard = (signal: NodeJS.Signals) => {
    if (signal === 'SIGINT') {
      const now = systemRuntime.monotonic()
      if (now - interruptedAt < ECHO_MS) return
      interruptedAt = now
    }
    handle(signal)
  }
  for (const signal of SIGNALS) process.on(signal, heard)
  return () => {
    for (const signal of SIGNALS) process.off(signal, heard)
  }
}
