import { isOncueError } from '@oncue/sdk'
import { Observable } from './observable.ts'

/**
 * - live: the stream is open
 * - polling: it cannot be opened, but requests are answered
 * - reconnecting, offline: neither, for long enough to say so
 */
export type Phase = 'connecting' | 'live' | 'polling' | 'reconnecting' | 'offline' | 'paused'

export interface ConnectionState {
  readonly phase: Phase
  /** When the data on the screen arrived, by this device's clock. */
  readonly dataAt: Date | null
}

export interface ConnectionSource<Message> {
  watch(signal: AbortSignal): AsyncIterable<Message>
  get(signal: AbortSignal): Promise<Message>
  onMessage(message: Message): void
  /** The server responds again after a reported loss: failed reads can be repeated at once. */
  onBack(): void
  /** The server rejects the session. */
  onRefused(): void
}

/** A shorter gap is not reported. */
const QUIET_MS = 5_000
const OFFLINE_MS = 20_000
/** A phone also reports a loss when it changes from wifi to mobile data; the server then responds sooner than this. */
const HANDOVER_MS = 1_500
const POLL_MS = 10_000
const FIRST_PAUSE_MS = 500

/** Keeps data up to date by a stream, or by polling when there is none, and reports its state. */
export class Connection<Message> {
  readonly state = new Observable<ConnectionState>({ phase: 'connecting', dataAt: null })
  readonly #source: ConnectionSource<Message>
  #running: AbortController | undefined
  #lostTimers: ReturnType<typeof setTimeout>[] = []
  #wake = () => {}

  constructor(source: ConnectionSource<Message>) {
    this.#source = source
  }

  start(): void {
    if (this.#running || this.state.get().phase === 'paused') return
    this.#running = new AbortController()
    void this.#run(this.#running.signal)
  }

  /** Called when the app goes to the background or is unmounted. */
  stop(): void {
    this.#running?.abort()
    this.#running = undefined
    this.#clearTimers()
    this.#wake()
  }

  pause(): void {
    this.stop()
    this.#say('paused')
  }

  resume(): void {
    if (this.state.get().phase !== 'paused') return
    this.#say('connecting')
    this.start()
  }

  /** Ends the current back-off: the user asked, or the network is back. */
  retryNow(): void {
    this.#wake()
  }

  /** The device reports that the network is gone, before the stream notices. */
  networkLost(): void {
    if (!this.#running) return
    this.stop()
    this.#lostTimers = [setTimeout(() => this.#say('offline'), HANDOVER_MS)]
    this.start()
  }

  async #run(signal: AbortSignal): Promise<void> {
    for (let attempt = 0; !signal.aborted; attempt++) {
      try {
        for await (const message of this.#source.watch(signal)) {
          attempt = 0
          this.#got(message, 'live')
        }
      } catch (error) {
        if (signal.aborted) return
        if (isOncueError(error, 'UNAUTHORIZED')) return this.#source.onRefused()
      }
      this.#lost()
      // A stream that just broke may open again at once, as when the server restarts: do not report that.
      const isAnswered = await this.#ask(signal, attempt === 0)
      if (signal.aborted) return
      const pause = isAnswered && attempt > 0 ? POLL_MS : FIRST_PAUSE_MS * 2 ** attempt
      await this.#sleep(Math.min(pause, POLL_MS), signal)
    }
  }

  async #ask(signal: AbortSignal, isFirst: boolean): Promise<boolean> {
    try {
      const message = await this.#source.get(signal)
      this.#got(message, isFirst && this.state.get().phase === 'live' ? 'live' : 'polling')
      return true
    } catch (error) {
      if (isOncueError(error, 'UNAUTHORIZED') && !signal.aborted) this.#source.onRefused()
      return false
    }
  }

  #got(message: Message, phase: 'live' | 'polling'): void {
    const before = this.state.get().phase
    this.#clearTimers()
    this.#source.onMessage(message)
    this.state.set({ phase, dataAt: new Date() })
    if (before === 'reconnecting' || before === 'offline') this.#source.onBack()
  }

  #lost(): void {
    if (this.#lostTimers.length > 0) return
    // Without data the screen is empty and must say why sooner.
    const offlineMs = this.state.get().dataAt ? OFFLINE_MS : QUIET_MS
    this.#lostTimers = [
      setTimeout(() => this.#say('reconnecting'), QUIET_MS),
      setTimeout(() => this.#say('offline'), offlineMs),
    ]
  }

  #say(phase: Phase): void {
    this.state.set({ ...this.state.get(), phase })
  }

  #clearTimers(): void {
    for (const timer of this.#lostTimers.splice(0)) clearTimeout(timer)
  }

  #sleep(ms: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms)
      this.#wake = () => {
        clearTimeout(timer)
        resolve()
      }
      signal.addEventListener('abort', this.#wake, { once: true })
    })
  }
}

/** The connection's state in words. */
export function describeConnection({ phase, dataAt }: ConnectionState, time: (at: Date) => string): string {
  switch (phase) {
    case 'connecting':
      return 'Connecting'
    case 'live':
      return 'Live'
    case 'polling':
      return `Every ${POLL_MS / 1_000} s`
    case 'reconnecting':
      return 'Reconnecting'
    case 'offline':
      return dataAt ? `Offline, data from ${time(dataAt)}` : 'Offline'
    case 'paused':
      return 'Updates paused'
  }
}
