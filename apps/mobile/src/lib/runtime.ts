/** Must be imported before everything else. */

// Zod probes whether it may compile code; the page's CSP forbids that and reports the attempt.
Object.assign(globalThis, { __zod_globalConfig: { jitless: true } })

/** React Native lacks MessageEvent. Without it, messages of a stream are dropped silently. */
class StreamMessage extends Event {
  readonly data: unknown
  readonly origin: string
  readonly lastEventId: string

  constructor(type: string, init: { data?: unknown; origin?: string; lastEventId?: string } = {}) {
    super(type)
    this.data = init.data
    this.origin = init.origin ?? ''
    this.lastEventId = init.lastEventId ?? ''
  }
}

if (!('MessageEvent' in globalThis)) Object.assign(globalThis, { MessageEvent: StreamMessage })
