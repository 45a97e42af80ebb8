import type { Operation, TRPCLink } from '@trpc/client'
import type { AnyRouter } from '@trpc/server'
import { observable, type Unsubscribable } from '@trpc/server/observable'

/**
 * Calls made at the same moment share a request. A single call, as most are, is sent without a batch, which is faster;
 * so are calls marked `alone` because they are large or slow.
 */
export function togetherLink<Router extends AnyRouter>(
  single: TRPCLink<Router>,
  batched: TRPCLink<Router>,
): TRPCLink<Router> {
  return (runtime) => {
    const sendSingle = single(runtime)
    const sendBatched = batched(runtime)
    const waiting: Record<Operation['type'], ((send: typeof sendSingle) => void)[]> = {
      query: [],
      mutation: [],
      subscription: [],
    }

    const flush = (type: Operation['type']) => {
      const starts = waiting[type].splice(0)
      for (const start of starts) start(starts.length === 1 ? sendSingle : sendBatched)
    }

    return ({ op, next }) =>
      observable((observer) => {
        let sent: Unsubscribable | undefined
        let isWanted = true
        const start = (send: typeof sendSingle) => {
          if (isWanted) sent = send({ op, next }).subscribe(observer)
        }
        if (op.context.alone) start(sendSingle)
        else if (waiting[op.type].push(start) === 1) queueMicrotask(() => flush(op.type))
        return () => {
          isWanted = false
          sent?.unsubscribe()
        }
      })
  }
}
