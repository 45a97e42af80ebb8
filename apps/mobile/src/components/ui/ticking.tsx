import { useFrozenAt, useServerNow } from '../../lib/clock.ts'
import { age, ago, atTime, until } from '../../lib/format.ts'

interface Since {
  readonly from: Date
}

/** `4 min 10 s`, updated each second. Put it inside a text, so that nothing else renders again. */
export function Age({ from }: Since) {
  return age(from, useServerNow())
}

/** `4 min ago`; while the server does not respond `at 03:12:05`, since an age would look live. */
export function Ago({ from }: Since) {
  const now = useServerNow()
  return useFrozenAt() === null ? ago(from, now) : atTime(from, now)
}

/** `in 40 s`, or `now`; while the server does not respond `at 03:12:05`. */
export function Until({ to }: { readonly to: Date }) {
  const now = useServerNow()
  return useFrozenAt() === null ? until(to, now) : atTime(to, now)
}
