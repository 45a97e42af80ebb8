import { OncueError } from '@oncue/core'
import { TRPCClientError, type TRPCUntypedClient } from '@trpc/client'
import type { AnyRouter } from '@trpc/server'
import { ErrorEvent } from 'eventsource'
import { after } from './deadline.ts'

export interface Message {
  readonly id: string
  readonly data: unknown
}

export interface SubscriptionOptions {
  readonly path: string
  readonly input: unknown
  readonly context: Record<string, unknown>
  /** Timeout for opening the stream; with `speaksAtOnce`, for its first message. */
  readonly timeoutMs: number
  readonly speaksAtOnce: boolean
  readonly signal: AbortSignal | undefined
  readonly onOpen?: (() => void) | undefined
}

/** One connection to a stream, until the stream ends, the connection is lost or the caller aborts. Buffers for slow readers. */
export async function* subscribe(
  client: TRPCUntypedClient<AnyRouter>,
  { path, input, context, timeoutMs, speaksAtOnce, signal, onOpen }: SubscriptionOptions,
): AsyncGenerator<Message, void> {
  const waiting: Message[] = []
  let end: { readonly error?: unknown } | undefined
  let wake = () => {}
  const finish = (how: typeof end) => {
    end ??= how
    wake()
  }
  const onAbort = () => finish({ error: signal?.reason })
  const stopTimer = after(timeoutMs, () => {
    finish({ error: new OncueError('REQUEST_TIMEOUT', `${path} was not open after ${timeoutMs} ms`) })
  })

  signal?.addEventListener('abort', onAbort)
  const subscription = client.subscription(path, input, {
    context,
    onData(message) {
      stopTimer()
      waiting.push(message as Message)
      wake()
    },
    onError: (error) => finish({ error }),
    onComplete: () => finish({}),
    onConnectionStateChange({ state, error }) {
      if (state === 'pending') onOpen?.()
      if (state === 'pending' && !speaksAtOnce) stopTimer()
      // Otherwise the client would retry silently, for ever.
      else if (error) finish({ error })
    },
  })
  try {
    if (signal?.aborted) onAbort()
    for (;;) {
      for (let next = waiting.shift(); next; next = waiting.shift()) yield next
      if (end) {
        if ('error' in end) throw end.error
        return
      }
      await new Promise<void>((resolve) => {
        wake = resolve
      })
    }
  } finally {
    stopTimer()
    signal?.removeEventListener('abort', onAbort)
    subscription.unsubscribe()
  }
}

/** Whether the API, and no failure, has ended a stream, as it does to ask again who the caller is. */
export function isOrderlyEnd(error: unknown): boolean {
  const event: unknown = error instanceof TRPCClientError ? error.cause : undefined
  return event instanceof ErrorEvent && event.message === undefined
}
