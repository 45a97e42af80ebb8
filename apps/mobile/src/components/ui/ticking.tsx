import { useServerNow } from '../../lib/clock.ts'
import { age, ago, until } from '../../lib/format.ts'

interface Since {
  readonly from: Date
}

/** `4 min 10 s`, updated each second. Put it inside a text, so that nothing else renders again. */
export function Age({ from }: Since) {
  return age(from, useServerNow())
}

/** `4 min ago`. */
export function Ago({ from }: Since) {
  return ago(from, useServerNow())
}

/** `in 40 s`, or `now`. */
export function Until({ to }: { readonly to: Date }) {
  return until(to, useServerNow())
}
